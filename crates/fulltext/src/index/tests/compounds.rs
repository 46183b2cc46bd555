//! Tests of compounds, with a list of pairs.

use super::{VisibleFilter, document, keys, open, query};
use crate::index::*;

/// Sentences with the parts of the compounds and with common words.
const SENTENCES: &[&str] = &[
    "Der Minister sprach über die Finanzen und den Bund.",
    "Der Präsident reiste mit dem Zug durch das Land.",
    "Die Stadt baut eine neue Schule und ein Rathaus, sagt der Rat.",
    "Das Haus am See hat ein Dach, eine Tür und einen Garten.",
    "Die Bahn fährt über die Brücke zum Bahnhof und hält am Hof.",
    "Ein Kind spielt im Garten, viele Kinder gehen zur Schule.",
    "Die Straße ist gesperrt, der Verkehr steht, die Polizei sperrt die Autobahn.",
    "Auto, Rad und Schiff sind Mittel der Reise.",
    "Das Parlament wählt, die Wahl und der Kampf um Stimmen der Wähler.",
    "Die Arbeit und der Markt, die Arbeiter und der Platz.",
    "Der Wirtschaft fehlt Wachstum, die Krise trifft das Unternehmen.",
    "Die Regierung plant ein Gesetz, der Plan zum Klima und zum Schutz der Umwelt.",
    "Die Energie aus Wind und Sonne, die Kraft aus dem Werk, Strom und Netz.",
    "Fußball ist ein Spiel mit Ball und Fuß, der Spieler schießt ein Tor, das Spiel endet.",
    "Die Mannschaft gewinnt den Pokal, der Trainer feiert mit der Fahne.",
    "Der Arzt behandelt Kranke im Krankenhaus, die Ärzte helfen.",
    "Die Gesundheit kostet Geld, die Kasse zahlt, die Versicherung auch.",
    "Der Film lief im Fernsehen, das Theater zeigt ein Stück, die Musik spielt.",
    "Das Buch liegt im Laden, die Bücher stehen in der Bibliothek.",
    "Der Richter sprach das Urteil, das Gericht tagte, der Anwalt klagte.",
    "Die Grenze zur Schweiz, die Kontrolle, der Zoll und die Steuer.",
    "Die Zeitung druckt einen Artikel, die Presse fragt, die Konferenz beginnt.",
    "Das Wasser steigt, die Flut kommt, das Hochwasser bedroht das Dorf.",
    "Feuer und Wehr: die Feuerwehr löscht den Brand im Wald.",
    "Der Bauer erntet Korn, die Ernte ist gut, das Feld ist groß.",
    "Milch, Brot, Tee, Kaffee und Kräuter, die Kanne und die Tasse.",
    "Der Hund bellt, die Katze schläft, das Tier im Heim und im Park.",
    "Die Universität forscht, die Forschung und die Wissenschaft, der Student lernt.",
    "Die Miete steigt, die Wohnung ist teuer, der Bau kostet.",
    "Die Rente sinkt, das Alter naht, die Reform kommt, die Sozialpolitik und die Politik.",
    "Die Bank verleiht Geld, der Kredit und die Zinsen, die Börse fällt.",
    "Die Partei tagt, der Tag beginnt, der Vorsitz wechselt, die Chefin lacht.",
    "Die Kirche läutet, der Turm ist hoch, die Glocke klingt, die Burg ruht.",
    "Der Flug startet, der Hafen, das Zeug und der Platz am Meer.",
    "Die Sprache, das Wort, der Satz und die Schrift.",
    "Das Herz schlägt, der Kopf schmerzt, der Schmerz vergeht, das Blut fließt.",
    "Im Sommer die Ferien, im Winter der Sport und der Schnee.",
    "Die Nacht ist lang, das Licht brennt, die Lampe steht am Tisch.",
    "Das Eis schmilzt, der Bär frisst, der Wein ist rot, das Glas ist leer.",
    "Der Apfel fällt vom Baum, das Obst ist reif, der Saft schmeckt.",
    "Die Hand, der Schuh, das Tuch, die Tasche und der Koffer aus Übersee.",
    "Die Jugend, das Amt, die Behörde, das Gebäude, der Leiter, die Leitung.",
    "Der Weg ist weit, die Zeit ist knapp, der Punkt ist klar, die Stelle ist frei.",
    "Die Daten, der Rechner, das System und die Technik, das Programm.",
    "Sicher ist sicher, die Sicherheit, der Dienst, die Ordnung.",
    "Ob er will oder nicht: er ist und war, hat und wird, vor und nach, auf und ab.",
    "Gegen elf kam Besuch, unter vier Augen, über Stunden, aus dem Norden.",
    "Das Eisen rostet, das Fahrrad steht im Institut, sozial ist das nicht.",
    "Holen wir das Heft, es ist eng und hart, der Mast ist alt, die Ruhe ist gut.",
];

/// Compounds that a word finds.
const FOUND: &[(&str, &str)] = &[
    ("Finanzminister", "Minister"),
    ("Finanzminister", "Ministern"),
    ("Finanzminister", "Finanz"),
    ("Finanzministern", "Minister"),
    ("Bundesminister", "Minister"),
    ("Bundesminister", "Bund"),
    ("Bundesfinanzminister", "Minister"),
    ("Bundesfinanzminister", "Bund"),
    ("Bundespräsident", "Präsident"),
    ("Ministerpräsident", "Minister"),
    ("Ministerpräsident", "Präsident"),
    ("Ministerpräsidenten", "Präsident"),
    ("Stadtrat", "Stadt"),
    ("Gartenhaus", "Haus"),
    ("Gartenhaus", "Garten"),
    ("Gartenhäuser", "Haus"),
    ("Hausdach", "Dach"),
    ("Haustür", "Tür"),
    ("Haustüren", "Haus"),
    ("Straßenbahn", "Straße"),
    ("Straßenbahn", "Bahn"),
    ("Straßenbahnen", "Bahn"),
    ("Eisenbahnbrücke", "Brücke"),
    ("Bahnhof", "Bahn"),
    ("Kindergarten", "Garten"),
    ("Kindergarten", "Kind"),
    ("Kinderbuch", "Buch"),
    ("Kinderbücher", "Buch"),
    ("Schulkinder", "Kinder"),
    ("Stadtverkehr", "Verkehr"),
    ("Straßenverkehr", "Straße"),
    ("Autobahn", "Auto"),
    ("Autobahn", "Bahn"),
    ("Fahrradweg", "Weg"),
    ("Wahlkampf", "Wahl"),
    ("Wahlkampf", "Kampf"),
    ("Parlamentswahl", "Wahl"),
    ("Parlamentswahlen", "Parlament"),
    ("Arbeitsmarkt", "Arbeit"),
    ("Arbeitsmarkt", "Markt"),
    ("Arbeitsplatz", "Platz"),
    ("Arbeitsplätze", "Arbeit"),
    ("Marktplatz", "Markt"),
    ("Wirtschaftskrise", "Krise"),
    ("Wirtschaftskrise", "Wirtschaft"),
    ("Wirtschaftswachstum", "Wachstum"),
    ("Klimaschutz", "Klima"),
    ("Klimaschutz", "Schutz"),
    ("Umweltschutz", "Umwelt"),
    ("Klimaschutzgesetz", "Gesetz"),
    ("Windenergie", "Energie"),
    ("Sonnenenergie", "Sonne"),
    ("Windkraft", "Kraft"),
    ("Kraftwerk", "Kraft"),
    ("Stromnetz", "Netz"),
    ("Stromnetze", "Strom"),
    ("Fußballspiel", "Spiel"),
    ("Fußballspieler", "Spieler"),
    ("Fußballspieler", "Fußball"),
    ("Fußballtrainer", "Trainer"),
    ("Krankenkasse", "Kasse"),
    ("Krankenversicherung", "Versicherung"),
    ("Gesundheitspolitik", "Politik"),
    ("Gesundheitspolitik", "Gesundheit"),
    ("Theaterstück", "Theater"),
    ("Theaterstück", "Stück"),
    ("Fernsehfilm", "Film"),
    ("Filmmusik", "Musik"),
    ("Buchladen", "Laden"),
    ("Gerichtsurteil", "Urteil"),
    ("Gerichtsurteile", "Gericht"),
    ("Grenzkontrolle", "Kontrolle"),
    ("Grenzkontrollen", "Grenze"),
    ("Steuerreform", "Steuer"),
    ("Rentenreform", "Reform"),
    ("Rentenreform", "Rente"),
    ("Pressekonferenz", "Presse"),
    ("Pressekonferenz", "Konferenz"),
    ("Zeitungsartikel", "Artikel"),
    ("Zeitungsartikel", "Zeitung"),
    ("Hochwasserschutz", "Schutz"),
    ("Waldbrand", "Wald"),
    ("Waldbrände", "Brand"),
    ("Kornfeld", "Feld"),
    ("Kräutertee", "Tee"),
    ("Kräutertee", "Kräuter"),
    ("Kaffeetasse", "Kaffee"),
    ("Kaffeetasse", "Tasse"),
    ("Teekanne", "Kanne"),
    ("Tierheim", "Tier"),
    ("Tierpark", "Park"),
    ("Forschungsinstitut", "Forschung"),
    ("Mietwohnung", "Wohnung"),
    ("Wohnungsbau", "Wohnung"),
    ("Sozialpolitik", "Politik"),
    ("Bankkredit", "Kredit"),
    ("Parteitag", "Partei"),
    ("Parteichefin", "Chefin"),
    ("Kirchturm", "Turm"),
    ("Burgtor", "Tor"),
    ("Flughafen", "Hafen"),
    ("Flugzeug", "Flug"),
    ("Kopfschmerz", "Kopf"),
    ("Kopfschmerzen", "Schmerz"),
    ("Sommerferien", "Sommer"),
    ("Sommerferien", "Ferien"),
    ("Wintersport", "Sport"),
    ("Nachtlicht", "Licht"),
    ("Tischlampe", "Lampe"),
    ("Seebrücke", "Brücke"),
    ("Weinglas", "Glas"),
    ("Rotwein", "Wein"),
    ("Apfelbaum", "Baum"),
    ("Apfelbäume", "Apfel"),
    ("Apfelsaft", "Saft"),
    ("Handschuh", "Hand"),
    ("Handtasche", "Tasche"),
    ("Überseekoffer", "Koffer"),
    ("Jugendamt", "Jugend"),
    ("Schulleiter", "Leiter"),
    ("Schulleitung", "Leitung"),
    ("Zeitpunkt", "Punkt"),
    ("Datenschutz", "Schutz"),
    ("Rechnersystem", "System"),
    ("Sicherheitsdienst", "Dienst"),
    ("Sicherheitspolitik", "Sicherheit"),
    ("Bauernhof", "Bauer"),
    ("Regierungsprogramm", "Regierung"),
    ("Regierungsprogramm", "Programm"),
    ("Wasserkraft", "Wasser"),
];

/// Words that only look like compounds of a word.
const NOT_FOUND: &[(&str, &str)] = &[
    ("Motor", "Tor"),
    ("Autor", "Tor"),
    ("Direktor", "Tor"),
    ("Reaktor", "Tor"),
    ("Doktor", "Tor"),
    ("Traktor", "Tor"),
    ("Senator", "Tor"),
    ("Torte", "Tor"),
    ("Tortur", "Tor"),
    ("Heirat", "Rat"),
    ("Verrat", "Rat"),
    ("Vorrat", "Rat"),
    ("Quadrat", "Rat"),
    ("Ratte", "Rat"),
    ("Rätsel", "Rat"),
    ("Beweis", "Eis"),
    ("Preis", "Eis"),
    ("Reise", "Eis"),
    ("Kreis", "Eis"),
    ("Eisig", "Eis"),
    ("Tierisch", "Tisch"),
    ("Politisch", "Tisch"),
    ("Kritisch", "Tisch"),
    ("Musikalisch", "Tisch"),
    ("Ballade", "Ball"),
    ("Ballett", "Ball"),
    ("Ballast", "Ball"),
    ("Ballon", "Ball"),
    ("Überfall", "Ball"),
    ("Kindlich", "Licht"),
    ("Vielleicht", "Licht"),
    ("Pflicht", "Licht"),
    ("Schlicht", "Licht"),
    ("Gericht", "Richter"),
    ("Verkehr", "Wehr"),
    ("Bankier", "Bank"),
    ("Bankett", "Bank"),
    ("Bankrott", "Bank"),
    ("Urteil", "Teil"),
    ("Vorteil", "Teil"),
    ("Gegenteil", "Teil"),
    ("Markierung", "Mark"),
    ("Marktlücke", "Mark"),
    ("Partei", "Tee"),
    ("Komitee", "Tee"),
    ("Wehmut", "Mut"),
    ("Vermutung", "Mut"),
    ("Anmut", "Mut"),
    ("Handlung", "Hand"),
    ("Handeln", "Hand"),
    ("Behandlung", "Hand"),
    ("Verhandlung", "Hand"),
    ("Händler", "Hand"),
    ("Spielerisch", "Spiel"),
    ("Beispiel", "Spiel"),
    ("Wohnung", "Wohn"),
    ("Stadion", "Stadt"),
    ("Gestalt", "Alt"),
    ("Anstalt", "Stall"),
    ("Gehalt", "Halt"),
    ("Inhalt", "Halt"),
    ("Enthalten", "Halt"),
    ("Unterhaltung", "Halt"),
    ("Wahrheit", "Heim"),
    ("Geheimnis", "Heim"),
    ("Daheim", "Heim"),
    ("Steuern", "Teuer"),
    ("Abenteuer", "Teuer"),
    ("Abenteuer", "Steuer"),
    ("Kontrolle", "Rolle"),
    ("Trolle", "Rolle"),
    ("Landung", "Land"),
    ("Wandel", "Wand"),
    ("Verwandt", "Wand"),
    ("Gewandt", "Wand"),
    ("Schwand", "Wand"),
    ("Standard", "Stand"),
    ("Verstand", "Stand"),
    ("Gegenstand", "Stand"),
    ("Brandung", "Brand"),
    ("Kasten", "Kasse"),
    ("Klassiker", "Klasse"),
    ("Artikel", "Art"),
    ("Artig", "Art"),
    ("Karten", "Art"),
    ("Konzert", "Herz"),
    ("Scherze", "Herz"),
    ("Werkzeug", "Wer"),
    ("Zugabe", "Gabe"),
    ("Ausgabe", "Gabe"),
    ("Aufgabe", "Gabe"),
    ("Vorgabe", "Gabe"),
    ("Rückkehr", "Kehr"),
    ("Schweine", "Wein"),
    ("Schwein", "Wein"),
    ("Radio", "Rad"),
    ("Radikal", "Rad"),
    ("Paradies", "Rad"),
    ("Kamerad", "Rad"),
    ("Flutlicht", "Flucht"),
    ("Seelisch", "See"),
    ("Museen", "See"),
    ("Seele", "See"),
    ("Weglassen", "Weg"),
    ("Bewegung", "Weg"),
    ("Norwegen", "Weg"),
    ("Zeitig", "Zeit"),
    ("Zeitung", "Zeit"),
    ("Mahlzeiten", "Seiten"),
    ("Buchstäblich", "Buch"),
    ("Buchung", "Buch"),
    ("Besuch", "Buch"),
    ("Versuch", "Tuch"),
    ("Baumeln", "Baum"),
    ("Bauchig", "Bau"),
    ("Aufbau", "Bau"),
    ("Satzung", "Satz"),
    ("Gegensatz", "Satz"),
    ("Dienstag", "Dienst"),
    ("Amtlich", "Amt"),
    ("Beamter", "Amt"),
    ("Gesamt", "Samt"),
    ("Punktlandung", "Pute"),
];

#[test]
fn compounds_are_found_by_their_parts() {
    assert!(FOUND.len() + NOT_FOUND.len() >= 200 && NOT_FOUND.len() >= 60);
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    let mut number = 1_000;
    for sentence in SENTENCES {
        number += 1;
        index.put(document(number, "", sentence)).unwrap();
    }
    let all: Vec<(&str, &str, bool)> = FOUND
        .iter()
        .map(|(word, query)| (*word, *query, true))
        .chain(NOT_FOUND.iter().map(|(word, query)| (*word, *query, false)))
        .collect();
    for (key, (word, ..)) in all.iter().enumerate() {
        index.put(document(key as u128, "", &format!("Hier steht {word} allein."))).unwrap();
    }
    index.commit(1).unwrap();
    let (mut hits, mut misses, mut wrong) = (0, Vec::new(), Vec::new());
    for (key, (word, part, expected)) in all.iter().enumerate() {
        let query = query(part);
        let mut request = SearchRequest::new(&query, &VisibleFilter);
        request.limit = 1_000;
        let found = index.search(&request).unwrap().keys.contains(&(key as u128));
        match (found, expected) {
            (true, true) => hits += 1,
            (false, true) => misses.push((word, part)),
            (true, false) => wrong.push((word, part)),
            (false, false) => {}
        }
    }
    let recall = f64::from(hits) / FOUND.len() as f64;
    let precision = f64::from(hits) / (hits as usize + wrong.len()) as f64;
    assert!(recall >= 0.9 && precision >= 0.95, "{recall:.3} {precision:.3} missed {misses:?}, wrong {wrong:?}");
    println!("recall {recall:.3}, precision {precision:.3}, missed {misses:?}, wrong {wrong:?}");
}

#[test]
fn hidden_documents_make_no_compound() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    let mut hidden = document(1, "", "Die Finanzen.");
    hidden.visible = false;
    index.put(hidden).unwrap();
    index.put(document(2, "", "Der Finanzminister.")).unwrap();
    index.commit(1).unwrap();
    assert_eq!(keys(&index, "minister"), [0u128; 0]);
    index.put(document(3, "", "Die Finanzen.")).unwrap();
    index.commit(2).unwrap();
    assert_eq!(keys(&index, "minister"), [2]);
    assert_eq!(keys(&index, "\"minister\""), [0u128; 0]);
    assert_eq!(keys(&index, "-minister"), [3, 2]);
}

#[test]
fn only_german_words_are_taken_apart() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    for (key, language) in [(1, "en"), (2, "de-CH"), (3, "fr")] {
        let mut document = document(key, "", "Finanzen Finanzminister");
        document.language = Some(language.to_owned());
        index.put(document).unwrap();
    }
    index.commit(1).unwrap();
    assert_eq!(keys(&index, "minister"), [2]);
}
