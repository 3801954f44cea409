//! The `forbear` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    forbear_gateway::main()
}
