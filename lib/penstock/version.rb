# frozen_string_literal: true

module Penstock
  # Of this gem.
  VERSION = "0.1.0"
end
