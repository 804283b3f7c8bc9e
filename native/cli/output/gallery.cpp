// SPDX-License-Identifier: MIT
#include "cli/output/gallery.h"

#include "cli/messages.h"
#include "cli/output/pictures.h"
#include "cli/output/text_file.h"
#include "datasets/unwritable.h"
#include "probust/base/error.h"
#include "report/gallery.h"
#include "report/words.h"

namespace probust::cli {

void check_gallery(const Arguments& arguments) {
  if (arguments.analysis.gallery.empty()) return;
  require_ending("--gallery", arguments.analysis.gallery, ".html");
  require_writable(arguments.analysis.gallery);
}

void write_gallery(const Arguments& arguments, const RunResults& run, std::span<const Ranking> rankings) {
  if (arguments.analysis.gallery.empty()) return;
  const std::string& data = arguments.analysis.images.empty() ? arguments.data.path : arguments.analysis.images;
  const PastRun past{run.configuration, run.information, data, arguments.analysis.models, arguments.device};
  const report::Pictures pictures = pictures_of(
      past, {.rows = report::ranked_rows(rankings), .samples = arguments.analysis.samples, .class_names = run.class_names});
  if (!pictures.missing.empty()) throw Error{ErrorCode::unreadable, "", pictures.missing, ""};
  if (!pictures.wrong_missing.empty() && !arguments.quiet) say("{}\n", pictures.wrong_missing);
  const std::string title = "Least and most robust points of " + report::file_name(arguments.model);
  write_text_file(arguments.analysis.gallery, report::gallery_page(title, rankings, pictures, run.class_names));
}

}  // namespace probust::cli
