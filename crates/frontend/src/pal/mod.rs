//! The `.pal` language.
