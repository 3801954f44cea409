//! Prints the public items of the crate whose rustdoc JSON is named, one a line, sorted.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let json = std::env::args().nth(1).ok_or("name a file of rustdoc JSON")?;
    // What holds of every type is no promise of this one.
    let api = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).sorted(true).build()?;
    print!("{api}");
    Ok(())
}
