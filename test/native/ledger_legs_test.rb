# frozen_string_literal: true

# The ledger and the envelope through Ruby, so that the legs that watch memory (--asan, --valgrind, --gc-stress) see them
# too: they run the native tests only.
require_relative "../unit/core/ledger_property_test"
require_relative "../unit/core/ledger_test"
