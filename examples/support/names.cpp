#include "names.hpp"

#include <locus/core/check.hpp>
#include <locus/core/system/input_file.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace {

using std::string_view;

/// A language, and its names with spaces in between.
constexpr string_view lists[][2] = {
    {"Arabic",
     "Haddad Khoury Nasser Mansour Saleh Hamdan Khalil Najjar Sabbagh Darwish Kassab Ghanem Shaheen Masri Qasim "
     "Bishara Awad Tahan Hakimi Sayegh"},
    {"Chinese", "Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo"},
    {"Czech",
     "Novak Svoboda Novotny Dvorak Cerny Prochazka Kucera Vesely Horak Nemec Pokorny Marek Pospisil Hajek "
     "Jelinek Kral Ruzicka Benes Fiala Sedlacek"},
    {"Dutch",
     "de-Jong Jansen de-Vries van-den-Berg van-Dijk Bakker Janssen Visser Smit Meijer de-Boer Mulder de-Groot "
     "Bos Vos Peters Hendriks van-Leeuwen Dekker Brouwer"},
    {"English",
     "Smith Jones Taylor Brown Williams Wilson Johnson Davies Robinson Wright Thompson Evans Walker White "
     "Roberts Green Hall Wood Harris Clarke"},
    {"Finnish",
     "Korhonen Virtanen Makinen Nieminen Makela Hamalainen Laine Heikkinen Koskinen Jarvinen Lehtonen Lehtinen "
     "Saarinen Salminen Heinonen Niemi Heikkila Salonen Kinnunen Turunen"},
    {"French",
     "Martin Bernard Dubois Durand Moreau Laurent Simon Michel Lefebvre Leroy Roux Fournier Girard Bonnet "
     "Dupont Lambert Fontaine Rousseau Chevalier Mercier"},
    {"German",
     "Mueller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Koch Bauer Richter Klein "
     "Wolf Schroeder Neumann Schwarz Zimmermann Krueger"},
    {"Greek",
     "Papadopoulos Georgiou Dimitriou Nikolaidis Papadakis Vasileiou Ioannou Karagiannis Makris Economou "
     "Antoniou Christodoulou Pappas Angelopoulos Konstantinou Michailidis Alexopoulos Panagiotou Samaras Kostopoulos"},
    {"Hungarian",
     "Nagy Kovacs Toth Szabo Horvath Varga Kiss Molnar Nemeth Farkas Balogh Papp Takacs Juhasz Lakatos "
     "Meszaros Olah Szilagyi Feher Gulyas"},
    {"Irish",
     "Murphy O'Kelly O'Sullivan Walsh O'Brien Byrne O'Connor O'Neill O'Reilly Doyle McCarthy Gallagher Doherty "
     "Kennedy Quinn McLoughlin O'Carroll Connolly O'Donnell Fitzgerald"},
    {"Italian",
     "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti De-Luca "
     "Mancini Costa Giordano Rizzo Lombardi Moretti"},
    {"Japanese",
     "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki "
     "Yamaguchi Matsumoto Inoue Kimura Hayashi Shimizu Saito"},
    {"Korean", "Kim Lee Park Choi Jeong Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang Ahn Song Ryu Hong"},
    {"Polish",
     "Nowak Kowalski Wisniewski Wojcik Kowalczyk Kaminski Lewandowski Zielinski Szymanski Wozniak Dabrowski "
     "Kozlowski Jankowski Mazur Kwiatkowski Krawczyk Piotrowski Grabowski Nowakowski Pawlowski"},
    {"Portuguese",
     "Silva Santos Ferreira Pereira Oliveira Rodrigues Martins Sousa Fernandes Goncalves Gomes Lopes Marques "
     "Alves Almeida Ribeiro Pinto Carvalho Teixeira Moreira"},
    {"Russian",
     "Ivanov Smirnov Kuznetsov Popov Vasiliev Petrov Sokolov Mikhailov Novikov Fedorov Morozov Volkov "
     "Alekseev Lebedev Semenov Egorov Pavlov Kozlov Stepanov Nikolaev"},
    {"Spanish",
     "Garcia Gonzalez Rodriguez Fernandez Lopez Martinez Sanchez Perez Gomez Jimenez Ruiz Hernandez Diaz "
     "Moreno Munoz Alvarez Romero Alonso Gutierrez Navarro"},
    {"Turkish",
     "Yilmaz Kaya Demir Sahin Celik Yildiz Yildirim Ozturk Aydin Ozdemir Arslan Dogan Kilic Aslan Cetin Kara "
     "Koc Kurt Ozkan Simsek"},
    {"Vietnamese", "Nguyen Tran Le Pham Hoang Huynh Phan Vu Vo Dang Bui Do Ho Ngo Duong Ly Dinh Trinh Truong Luong"},
};

/// The words of a text.
std::vector<std::string> split(string_view text, string_view separators) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(separators, begin)) != string_view::npos;) {
    const std::size_t end = text.find_first_of(separators, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = end == string_view::npos ? text.size() : end;
  }
  return words;
}

}  // namespace

std::vector<Language> common_names() {
  std::vector<Language> languages;
  for (const auto& [language, names] : lists) languages.push_back({std::string(language), split(names, " ")});
  return languages;
}

std::vector<Language> read_names(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    if (entry->path().extension() == ".txt") files.push_back(entry->path());
  if (failed) locus::fail<locus::DataError>({"cannot read the folder '", folder, "': ", failed.message()});
  std::sort(files.begin(), files.end());
  std::vector<Language> languages;
  for (const fs::path& file : files) {
    locus::io::detail::InputFile text(file.string(), "a text file with a name in each line");
    std::string content(text.bytes(), '\0');
    content.resize(text.read(content.data(), content.size()));
    languages.push_back({file.stem().string(), split(content, "\r\n")});
    if (languages.back().names.empty())
      locus::fail<locus::DataError>({"'", file.string(), "' holds no names; expected one in each line"});
  }
  if (languages.size() < 2)
    locus::fail<locus::DataError>({"the folder '", folder, "' has ", languages.size(),
                                   " files *.txt; expected two or more, one for each language"});
  return languages;
}
