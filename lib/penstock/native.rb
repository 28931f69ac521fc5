# frozen_string_literal: true

require_relative "errors"
require_relative "native/extension"

module Penstock
  # The driver: librdkafka wrapped in Penstock's own handles. Nothing here knows routes, units or the user's consumers.
  #
  # This file loads the extension and what every handle uses (errors, fork); each class is in a file of its own under `native/`,
  # which requires this one.
  module Native
  end
end

Penstock::Native::Extension.load("penstock_kafka")
require_relative "native/kafka_error"
require_relative "native/fork"
require_relative "version"

Penstock::Native.crash_identity = "penstock #{Penstock::VERSION}, #{RUBY_DESCRIPTION}"
