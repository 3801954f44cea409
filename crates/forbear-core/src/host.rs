//! Hosts as they are compared: lower case, without userinfo, default port or trailing dot.

use crate::url::without_userinfo;

/// The longest host name that can exist (RFC 1035 section 2.3.4), with room for a port.
pub(crate) const LONGEST: usize = 262;

/// A normalised host, kept on the stack.
pub(crate) struct Host {
    bytes: [u8; LONGEST],
    /// The host without a port.
    name: usize,
    /// With `:port`, where it is not the scheme's default; else equal to `name`.
    full: usize,
}

impl Host {
    /// The host in `authority`. `None` where it is empty or longer than a host can be.
    pub(crate) fn of(authority: &str, https: bool) -> Option<Self> {
        let authority = without_userinfo(authority);
        let (name, port) = split_port(authority);
        let name = name.strip_suffix('.').unwrap_or(name);
        let port = port.filter(|port| !port.is_empty() && *port != if https { "443" } else { "80" });
        let mut host = Self { bytes: [0; LONGEST], name: 0, full: 0 };
        host.push(name)?;
        host.name = host.full;
        if let Some(port) = port {
            host.push(":")?;
            host.push(port)?;
        }
        (host.name > 0).then_some(host)
    }

    fn push(&mut self, text: &str) -> Option<()> {
        let end = self.full.checked_add(text.len())?;
        for (slot, byte) in self.bytes.get_mut(self.full..end)?.iter_mut().zip(text.bytes()) {
            *slot = byte.to_ascii_lowercase();
        }
        self.full = end;
        Some(())
    }

    /// The host alone.
    pub(crate) fn name(&self) -> &str {
        self.part(self.name)
    }

    /// The host with its port, where that is not the default.
    pub(crate) fn full(&self) -> &str {
        self.part(self.full)
    }

    fn part(&self, end: usize) -> &str {
        // Made of whole `str`s in which only ASCII letters changed, so it is always UTF-8.
        self.bytes.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// Whether an authority is certainly in its normal form, as most are: no upper case, userinfo, port or trailing dot.
#[inline]
pub(crate) fn is_normal(authority: &str) -> bool {
    // `@` stands before `A` in ASCII. Looked at as a whole, not up to the first, so that several bytes are at once.
    let other = |byte: u8| byte.wrapping_sub(b'@') <= b'Z' - b'@' || byte == b':';
    !authority.bytes().fold(false, |any, byte| any | other(byte)) && !authority.ends_with('.')
}

/// `host:port` apart; an IPv6 address keeps its brackets.
pub(crate) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(authority: &str, https: bool) -> (String, String) {
        let host = Host::of(authority, https).unwrap();
        (host.name().to_owned(), host.full().to_owned())
    }

    #[test]
    fn hosts_are_compared_in_one_form() {
        let plain = ("api.example.com".to_owned(), "api.example.com".to_owned());
        for same in [
            "api.example.com",
            "API.Example.COM:443",
            "u:p@api.example.com",
            "u@elsewhere.example:p@api.example.com",
            "api.example.com.",
            "api.example.com.:443",
        ] {
            assert_eq!(both(same, true), plain, "{same}");
        }
        assert_eq!(both("api.example.com:443", false).1, "api.example.com:443");
        assert_eq!(both("[::1]:8080", false), ("[::1]".into(), "[::1]:8080".into()));
        assert_eq!(both("[2001:DB8::1]", true).0, "[2001:db8::1]");
        for (authority, normal) in [
            ("api.example.com", true),
            ("[::1]", false),
            ("API.example.com", false),
            ("api.exaMple.com", false),
            ("api.example.coZ", false),
            ("u@api.example.com", false),
            ("api.example.com.", false),
            ("api.example.com:80", false),
        ] {
            assert_eq!(is_normal(authority), normal, "{authority}");
            assert!(!normal || both(authority, true) == (authority.to_owned(), authority.to_owned()));
        }
        assert_eq!(both("a", true).0, "a");
        assert!(Host::of("", true).is_none() && Host::of("u@:80", false).is_none());
        assert!(Host::of(&"a".repeat(300), true).is_none());
    }
}
