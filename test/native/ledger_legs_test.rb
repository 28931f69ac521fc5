# frozen_string_literal: true

# The ledger and the envelope through Ruby, so that the legs with a memory checker (--asan, --valgrind, --gc-stress) include
# them: these legs only run the native tests.
require_relative "../unit/native/ledger_property_test"
require_relative "../unit/native/ledger_test"
