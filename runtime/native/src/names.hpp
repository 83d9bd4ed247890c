// Names of Python modules that the core imports, or that its types say they are of.
#pragma once

// What stands before them: nothing in a checkout, "gradwright." in a wheel (codegen/module_names.py).
#ifndef GRADWRIGHT_PREFIX
#define GRADWRIGHT_PREFIX ""
#endif

#define RUNTIME_NAME(rest) GRADWRIGHT_PREFIX "runtime." rest
#define GENERATED_NAME(rest) GRADWRIGHT_PREFIX "generated." rest
