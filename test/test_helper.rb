# frozen_string_literal: true

# After the folders that bin/test puts first: extensions that were built with a memory checker.
[__dir__, File.expand_path("../lib", __dir__)].each { |path| $LOAD_PATH.unshift(path) unless $LOAD_PATH.include?(path) }

require_relative "support/warnings"
require "timeout"
require "minitest/autorun"
require_relative "support/result_file"
require_relative "support/test_case"
require_relative "support/checked_events"
require_relative "support/gc_stress" if ENV["PENSTOCK_GC_STRESS"]

Penstock::TestSupport::CheckedEvents.begin
Penstock::TestSupport::CheckedEvents.install

# Descriptors that Ruby opens once and keeps would look like a leak of the first test that needs them.
Timeout.timeout(1) { Random.urandom(1) }
