# frozen_string_literal: true

require_relative "extension"

module Penstock
  module Native
    # The part of the native code that doesn't need librdkafka: the commit envelope, the statistics trim. Loads alone in a few
    # milliseconds; each class is in a file of its own, which requires this one.
    module Core
    end
  end
end

Penstock::Native::Extension.load("penstock_core")
