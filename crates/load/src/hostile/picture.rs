//! A picture of large dimensions in a small file.

use std::io::Write;

/// Returns a PNG file of black pixels with four channels of 16 bits, the format that takes the most
/// memory for its file size.
///
/// # Panics
/// For a side of 0.
pub fn black_picture(side: u32) -> Vec<u8> {
    const INTO_A_VECTOR: &str = "a picture with pixels can be written into a vector";
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Sixteen);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().expect(INTO_A_VECTOR);
    let mut pixels = writer.stream_writer().expect(INTO_A_VECTOR);
    let row = vec![0; side as usize * 8];
    (0..side).for_each(|_| pixels.write_all(&row).expect(INTO_A_VECTOR));
    pixels.finish().expect(INTO_A_VECTOR);
    writer.finish().expect(INTO_A_VECTOR);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_picture_is_a_small_file() {
        let file = black_picture(4000);
        assert!(file.len() < 1 << 20, "{}", file.len());
        let reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().expect("it is a picture");
        assert_eq!((reader.info().width, reader.output_buffer_size()), (4000, Some(4000 * 4000 * 8)));
    }
}
