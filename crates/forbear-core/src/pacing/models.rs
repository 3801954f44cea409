//! The retry quota and what is in flight, checked in every order of their steps.
