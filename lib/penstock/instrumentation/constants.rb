# frozen_string_literal: true

require_relative "../compat/karafka/constants"
require_relative "../on_demand"

module Penstock
  module Instrumentation
    extend Compat::Karafka::Constants::Hints
  end
end
