// The files of this folder as they were when the library was built.
#pragma once

namespace scavenger::elastic {

const char* page_style();              // page.css
const char* page_format_script();      // format.js
const char* page_drawing_script();     // drawing.js
const char* page_chart_script();       // chart.js
const char* page_row_script();         // rows.js
const char* page_section_script();     // sections.js
const char* page_prediction_script();  // predictions.js
const char* page_live_script();        // live.js
const char* page_script();             // page.js

}  // namespace scavenger::elastic
