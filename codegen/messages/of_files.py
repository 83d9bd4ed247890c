"""Pages: files, YAML, the values of keys, and what a package brings beside its YAML."""

from __future__ import annotations

from codegen.codes import Code
from codegen.messages.page import DERIVATIVES, HELPERS, KERNELS, NATIVE_FUNCTIONS, PROJECT, Page

PAGES = (
    Page(
        Code.UNREADABLE, "A file can not be read",
        "The file is not there, may not be read, is not UTF-8, or holds a character that YAML does not allow, such as "
        "a control character that came with pasted text. In the example it is U+0007, shown as '\u2407'.",
        NATIVE_FUNCTIONS,
        "# Ring the bell: \a\n[]\n",
        "# Ring the bell.\n[]\n",
        {DERIVATIVES: "[]\n"},
    ),
    Page(
        Code.YAML_SYNTAX, "The text is not YAML",
        "What is wrong is found before anything is known of operators: indentation, quotes, brackets, a ':' inside a "
        "text. Each entry of a file is read on its own, so that one broken entry hides no other. Merge keys and tags, "
        "which YAML has and these files have no use for, are refused as well.",
        DERIVATIVES,
        "- name: twice(Tensor self) -> Tensor\n  self: {grad * 2\n",
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    ),
    Page(
        Code.WRONG_SHAPE, "A text stands where a list or a table is to be, or the other way round",
        "Each key has one kind of value: a text, a list or a table of keys. An empty value is none of them.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples: T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n",
    ),
    Page(
        Code.UNKNOWN_KEY, "An entry has a key that means nothing",
        "docs/yaml.md has all keys. A key that is ignored would be a setting that is believed to hold.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  sampels:\n  - T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n",
    ),
    Page(
        Code.MISSING_KEY, "An entry does not say what it is about",
        "An entry of native_functions.yaml has the signature of its operator under 'func', one of derivatives.yaml "
        "under 'name'.",
        DERIVATIVES,
        "- func: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    ),
    Page(
        Code.GIVEN_TWICE, "Something is given twice",
        "A key, a name or a word stands twice in the same entry. Which of the two is meant can not be told.",
        DERIVATIVES,
        "- name: twice(Tensor self) -> Tensor\n  self: grad\n  self: grad * 2\n",
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    ),
    Page(
        Code.UNKNOWN_WORD, "A word is none of those that its key knows",
        "Variants, tags, dispatch keys, kinds of element types, layouts and the like are closed sets of words; "
        "docs/yaml.md lists them.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  variants: function, methd\n  dispatch:\n    CPU: twice\n  samples:\n"
        "  - T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  variants: function, method\n  dispatch:\n    CPU: twice\n  samples:\n"
        "  - T(3, 4)\n",
    ),
    Page(
        Code.MALFORMED, "A value does not have the form of its key",
        "The value is a text, a list or a table as it should be, and what it says can not be read: a number is "
        "missing, a name has signs in it, a truth value is neither True nor False.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  domain: [2, 0.5]\n  samples:\n"
        "  - T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  domain: [0.5, 2]\n  samples:\n"
        "  - T(3, 4)\n",
    ),
    Page(
        Code.CONTRADICTION, "Two keys of an entry can not both hold",
        "One of the two would have no effect, or takes back what the other says.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  python_module: special\n  variants: function, method\n  dispatch:\n"
        "    CPU: twice\n  samples:\n  - T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  python_module: special\n  variants: function\n  dispatch:\n"
        "    CPU: twice\n  samples:\n  - T(3, 4)\n",
    ),
    Page(
        Code.PROJECT_TABLE, "The table in pyproject.toml is wrong",
        "The table [tool.gradwright] says where the files of a package lie. docs/packages.md has its keys.",
        PROJECT,
        '[tool.gradwright]\nschema_version = 1\npackage = "mylib"\nkernel = "kernels.py"\n',
        '[tool.gradwright]\nschema_version = 1\npackage = "mylib"\nkernels = "kernels.py"\n',
    ),
    Page(
        Code.PYTHON_SOURCE, "Kernels, composites or helpers can not be used as they are written",
        "The generator reads these files as text and does not run them. One does not parse, defines a name that "
        "another module of its folder has, or has a helper whose annotations are no types that formulas know. Of "
        "Gradwright's own update rules of optimizers (runtime/operators/update_rules.py), one has something that is "
        "not compiled.",
        HELPERS,
        "def doubled(grad):\n    return grad * 2\n",
        "from gradwright import Tensor\n\n\ndef doubled(grad: Tensor) -> Tensor:\n    return grad * 2\n",
        {DERIVATIVES: "- name: twice(Tensor self) -> Tensor\n  self: doubled(grad)\n"},
    ),
    Page(
        Code.TAKEN, "The name is Gradwright's",
        "Formulas call Gradwright's operators and helpers by their names, and could not tell a package's own apart. "
        "Choose another name. With base = \"none\" in pyproject.toml a package has its own set of operators, and all "
        "names are free.",
        NATIVE_FUNCTIONS,
        "- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n",
        "- func: my_relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n",
        {DERIVATIVES: "[]\n", KERNELS: "def twice(self):\n    return self > 2\n"},
    ),
    Page(
        Code.NO_FUNCTION, "A function that an entry names is not there",
        "A dispatch table names kernels, which lie among the functions on arrays; an operator without one is a "
        "function of its name among the composites; 'batching' names a rule of vmap. In C++ a row of the table of "
        "kernels names a function in Python, which an operator takes; what has the name of such a function has a row.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twise\n  samples:\n  - T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n",
    ),
    Page(
        Code.KERNEL_PARAMETERS, "A kernel does not take the operator's arguments",
        "Arguments are handed to kernels and composites by their names: the parameters are those of the signature, in "
        "its order. A kernel in C++ has as many operands as the one in Python.",
        KERNELS,
        "def twice(x):\n    return x * 2\n",
        "def twice(self):\n    return self * 2\n",
    ),
    Page(
        Code.NOT_PORTABLE, "An operator can not be written for one of the targets",
        "The targets 'rules', 'torch' and 'jax' write operators for libraries that know nothing of Gradwright. A "
        "formula, helper or kernel of this operator uses what the library has not: the message names it, and where. "
        "Write it another way (docs/frameworks.md and docs/torch.md say what there is), or leave the target out of "
        "'targets' in pyproject.toml. Nothing is written meanwhile, and nothing is left out in silence.",
        HELPERS,
        "import scipy.special\n\nfrom gradwright import Tensor\n\n\ndef doubled(grad: Tensor) -> Tensor:\n"
        "    return grad * float(scipy.special.gamma(3.0))\n",
        "import math\n\nfrom gradwright import Tensor\n\n\ndef doubled(grad: Tensor) -> Tensor:\n"
        "    return grad * math.gamma(3.0)\n",
        {
            PROJECT: '[tool.gradwright]\nschema_version = 1\npackage = "mylib"\ntargets = ["torch"]\n',
            DERIVATIVES: "- name: twice(Tensor self) -> Tensor\n  self: doubled(grad)\n",
        },
    ),
)  # fmt: skip
