//! Commands, inside what the kernel can enforce.
