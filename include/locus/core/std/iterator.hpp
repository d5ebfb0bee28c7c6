#pragma once
// Concepts, sentinels and adaptors of iterators, as <iterator> has them. libstdc++ declares them in <string>, too, and
// its <iterator> would cost every program 0.05 s; other standard libraries leave them out of <string>.

#include <string>

#ifndef __GLIBCXX__
#include <iterator>
#endif
