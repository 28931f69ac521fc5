# frozen_string_literal: true

# The part of the native code that doesn't need librdkafka: ledger codecs, statistics trim, hashing. Builds in seconds.
require "mkmf"
require "fileutils"
require_relative "../build_settings"

BuildSettings.apply_compiler_flags
BuildSettings.apply_private_linking
BuildSettings.apply_sources(__dir__)
have_func("rb_internal_thread_add_event_hook", "ruby/thread.h") # Ruby 3.2
have_func("rb_internal_thread_specific_get", "ruby/thread.h") # Ruby 3.3
create_makefile("penstock/penstock_core")
BuildSettings.append_header_dependencies(__dir__)
