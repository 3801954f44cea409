mod any_bytes;
mod broken;
mod coded;
mod encode;
mod frames;
mod names;
