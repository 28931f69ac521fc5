# frozen_string_literal: true

$LOAD_PATH.unshift File.expand_path("../lib", __dir__), __dir__

require_relative "support/warnings"
require "timeout"
require "minitest/autorun"
require_relative "support/result_file"
require_relative "support/test_case"

# What Ruby opens once and keeps would look like a leak of the first test that needs it.
Timeout.timeout(1) { Random.urandom(1) }
