use image::ImageFormat;
use proptest::prelude::*;
use stet_testkit::Pdf;

use super::*;
use crate::faces::Face;
use crate::layout::{GlyphRun, PAGE};
use crate::lines::{ColumnShape, FontSetting, PlacedGlyph, lines};

const SENTENCE: &str = "Under a bright morning sky the harbour ferry came in late, and nobody on the quay was amused. ";

const BODY: FontSetting = FontSetting { face: Face::Regular, size: 10.0 };

fn block(kind: BlockKind, text: &str) -> Block {
    Block { kind, text: text.to_owned() }
}

fn paragraph(text: &str) -> Block {
    block(BlockKind::Paragraph, text)
}

fn text_of(line: &[PlacedGlyph]) -> String {
    line.iter().map(|glyph| glyph.character).collect()
}

fn end_of(line: &[PlacedGlyph], set_in: FontSetting) -> f32 {
    line.last().map_or(0.0, |last| last.x + set_in.face.width(last.id) * set_in.size)
}

fn set(text: &str, width: f32, justified: bool) -> Vec<Vec<PlacedGlyph>> {
    lines(text, BODY, ColumnShape { width, indent: 0.0, justified })
}

fn texts(text: &str, width: f32) -> Vec<String> {
    set(text, width, false).iter().map(|line| text_of(line)).collect()
}

#[test]
fn lines_break_between_words_and_fill_the_column() {
    let text = SENTENCE.repeat(5);
    let lines = set(&text, 200.0, true);
    assert!(lines.len() > 10);
    let joined: Vec<String> = lines.iter().map(|line| text_of(line)).collect();
    assert_eq!(joined.join(" "), text.trim_end(), "a word is lost or broken");
    let (last, others) = lines.split_last().expect("there are lines");
    for line in others {
        assert!((end_of(line, BODY) - 200.0).abs() < 0.1, "{}", text_of(line));
    }
    let ragged = set(&text, 200.0, false);
    assert_eq!(last, ragged.last().expect("it has as many lines"), "the last line is not spread");
    assert!(ragged.iter().all(|line| end_of(line, BODY) <= 200.0));
}

#[test]
fn first_line_is_indented_and_a_line_feed_begins_a_line() {
    let indented = lines(&SENTENCE.repeat(2), BODY, ColumnShape { width: 200.0, indent: 12.0, justified: true });
    assert_eq!((indented[0][0].x, indented[1][0].x), (12.0, 0.0));
    assert!((end_of(&indented[0], BODY) - 200.0).abs() < 0.1);
    assert_eq!(texts("one\ntwo\n", 200.0), ["one", "two"]);
    assert_eq!(texts("", 200.0), Vec::<String>::new());
}

#[test]
fn long_word_is_broken_at_soft_hyphens_or_where_the_line_ends() {
    let lines = texts("Donau\u{ad}dampf\u{ad}schiff\u{ad}fahrt", 70.0);
    assert_eq!(lines, ["Donaudampf-", "schifffahrt"]);
    let lines = texts(&"x".repeat(50), 100.0);
    assert_eq!(lines, [20, 20, 10].map(|count| "x".repeat(count)));
    // Narrower than a character.
    assert_eq!(texts("abc", 1.0), ["a", "b", "c"]);
}

#[test]
fn words_stay_together_at_a_space_that_does_not_break() {
    let with = |space: char| texts(&format!("The price is 10{space}000 euros"), 73.0);
    assert_eq!(with(' '), ["The price is 10", "000 euros"]);
    assert_eq!(with('\u{a0}'), ["The price is", "10\u{a0}000 euros"]);
}

#[test]
fn letters_are_kerned() {
    let width = |text: &str| end_of(&set(text, 500.0, false)[0], BODY);
    let apart = width("A") + width("V");
    assert!(width("AV") < apart - 0.5, "{} {apart}", width("AV"));
}

#[test]
fn marks_without_a_form_have_no_glyph_and_missing_characters_a_box() {
    assert_eq!(texts("a\u{200b}b\u{feff}c\u{0}d\u{200d}e", 200.0), ["abcde"]);
    let glyphs = |text: &str| set(text, 200.0, false)[0].iter().map(|glyph| glyph.id).collect::<Vec<_>>();
    assert_eq!(glyphs("漢😀"), glyphs("□□"));
    assert_eq!(glyphs("a\u{2006}\u{3000}b").len(), 4);
    assert_ne!(glyphs("\u{2006}"), glyphs("□"), "white space is no box");
    let letters = "AÄßžőŁ αΩώ дЖё “”–…€";
    assert!(!glyphs(letters).contains(&glyphs("□")[0]), "a letter is missing");
}

#[test]
fn pages_are_bounded_and_what_is_left_out_is_known() {
    let layout = Layout::of(&[]);
    assert_eq!((layout.pages(), layout.is_cut()), (1, false));
    let layout = Layout::of(&[paragraph(&SENTENCE.repeat(40))]);
    assert_eq!((layout.pages(), layout.is_cut()), (2, false));
    // One long paragraph, and many short ones.
    let long = [paragraph(&SENTENCE.repeat(2500))];
    let many = vec![paragraph("x"); 3000];
    let large = vec![block(BlockKind::Headline, SENTENCE); 500];
    for blocks in [&long[..], &many, &large] {
        let layout = Layout::of(blocks);
        assert_eq!((layout.pages(), layout.is_cut()), (MAX_PAGES, true));
    }
    // Characters at each of which a line may end, or which all stand at one place.
    for text in ["\u{2003}", "\u{301}", "x\u{2003}", "-", "\u{ad}x"] {
        assert!(Layout::of(&[paragraph(&text.repeat(MAX_CHARS))]).pages() <= MAX_PAGES, "{text:?}");
    }
    // Many characters that take no room.
    let empty = vec![paragraph(&"\u{200b}".repeat(MAX_CHARS / 2)); 3];
    let layout = Layout::of(&empty);
    assert_eq!((layout.pages(), layout.is_cut()), (1, true));
}

#[test]
fn heading_stands_on_the_page_of_the_text_below_it() {
    let lines_of = |page: &[GlyphRun]| page.iter().map(|run| text_of(&run.glyphs)).collect::<Vec<_>>();
    let mut broke = 0;
    for above in 1..40 {
        let mut blocks = vec![paragraph("x"); above];
        blocks.extend([block(BlockKind::Subheading, "Heading"), paragraph("one\ntwo\nthree")]);
        let layout = Layout::of(&blocks);
        for page in &layout.pages {
            let lines = lines_of(page);
            if let Some(at) = lines.iter().position(|line| line == "Heading") {
                assert_eq!(lines[at + 1..at + 3], ["one", "two"], "{above}");
            }
        }
        broke += usize::from(layout.pages() > 1 && lines_of(&layout.pages[1]).contains(&"Heading".to_owned()));
    }
    assert!(broke > 0, "no heading came to the end of a page");
}

/// The pixels of a picture.
fn pixels(layout: &Layout, page: usize, framed: bool) -> image::GrayImage {
    let png = layout.picture(page, framed).expect("it can be drawn");
    image::load_from_memory_with_format(&png, ImageFormat::Png).expect("it is a picture").into_luma8()
}

/// The dark pixels in a part of a picture: from left to right and from top to bottom, in points.
fn dark(picture: &image::GrayImage, x: std::ops::Range<f32>, y: std::ops::Range<f32>) -> usize {
    let within = |range: &std::ops::Range<f32>, pixel: u32| range.contains(&(pixel as f32 / 2.0));
    picture.enumerate_pixels().filter(|(px, py, shade)| within(&x, *px) && within(&y, *py) && shade.0[0] < 128).count()
}

#[test]
fn picture_shows_the_text_within_its_margins() {
    let layout = Layout::of(&[block(BlockKind::Headline, "Ferry"), paragraph(&SENTENCE.repeat(30))]);
    let plain = pixels(&layout, 0, false);
    assert_eq!(plain.dimensions(), (840, 1190));
    // The headline is larger and bolder than a line of the text.
    assert!(dark(&plain, 44.0..150.0, 46.0..75.0) > 600);
    assert!(dark(&plain, 44.0..376.0, 200.0..214.0) > 300);
    for (x, y) in
        [(0.0..43.0, 0.0..595.0), (377.0..420.0, 0.0..595.0), (0.0..420.0, 0.0..46.0), (0.0..420.0, 570.0..595.0)]
    {
        assert_eq!(dark(&plain, x.clone(), y.clone()), 0, "{x:?} {y:?}");
    }
    let framed = pixels(&layout, 0, true);
    assert!(dark(&framed, 19.0..22.0, 0.0..595.0) > 1000);
    assert_ne!(plain, pixels(&layout, 1, false), "the second page is another one");
    assert_eq!(pixels(&layout, 1, false), pixels(&layout, 7, false), "there is no page 8");
    let other = Layout::of(&[block(BlockKind::Headline, "Derry"), paragraph(&SENTENCE.repeat(30))]);
    assert_ne!(plain, pixels(&other, 0, false));
    assert_eq!(layout.picture(0, true), layout.picture(0, true));
}

#[test]
fn pdf_has_the_text_of_all_pages() {
    let special = "Ελλάδα, Кириллица, 漢字 and 😀 – (one) \\ two.";
    let blocks = [
        block(BlockKind::Headline, "Harbour ferry \u{2013} late"),
        paragraph(special),
        paragraph(&SENTENCE.repeat(60)),
        block(BlockKind::Subheading, "End"),
    ];
    let layout = Layout::of(&blocks);
    let file = layout.pdf("Fähre", true).expect("it can be written");
    let Pdf { pages } = Pdf::read(&file);
    assert_eq!(pages.len(), layout.pages());
    assert!(pages[0].starts_with(&format!("Harbour ferry \u{2013} late\n{special}\n")), "{}", pages[0]);
    let last = pages.last().expect("there are pages");
    assert!(last.ends_with(&format!("End\n{}\n", pages.len())), "{last}");
    // Without the numbers of the pages.
    let lines: Vec<&str> =
        pages.iter().flat_map(|page| page.lines()).filter(|line| line.parse::<u8>().is_err()).collect();
    let words = lines.join(" ");
    assert_eq!(words.matches(SENTENCE.trim_end()).count(), 60);
    // Only the glyphs that are needed are in it.
    assert!(file.len() < 60_000, "{}", file.len());
    assert_eq!(layout.pdf("Fähre", true), Ok(file));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_is_set_within_the_pages(
        texts in prop::collection::vec(("\\PC{0,80}|[ \\n\u{ad}\u{a0}a-zА-я́\u{200b}]{0,300}", 0usize..3), 0..12),
        page in 0usize..5,
    ) {
        let kinds = [BlockKind::Headline, BlockKind::Subheading, BlockKind::Paragraph];
        let blocks: Vec<Block> = texts.iter().map(|(text, kind)| block(kinds[*kind], text)).collect();
        let layout = Layout::of(&blocks);
        for run in layout.pages.iter().flatten() {
            prop_assert!(run.baseline > 0.0 && run.baseline < PAGE.1);
            prop_assert!(run.glyphs.iter().all(|glyph| glyph.x >= 0.0 && glyph.x < PAGE.0));
        }
        prop_assert!(layout.picture(page, true).is_ok());
        let pdf = layout.pdf("any", false).expect("it can be written");
        prop_assert_eq!(Pdf::read(&pdf).pages.len(), layout.pages());
    }
}
