// doubled has no entry: traced through
