# frozen_string_literal: true

# Behind what bin/test puts in front: extensions that were built with a memory checker.
[__dir__, File.expand_path("../lib", __dir__)].each { |path| $LOAD_PATH.unshift(path) unless $LOAD_PATH.include?(path) }

require_relative "support/warnings"
require "timeout"
require "minitest/autorun"
require_relative "support/result_file"
require_relative "support/test_case"
require_relative "support/gc_stress" if ENV["PENSTOCK_GC_STRESS"]

# What Ruby opens once and keeps would look like a leak of the first test that needs it.
Timeout.timeout(1) { Random.urandom(1) }
