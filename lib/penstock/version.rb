# frozen_string_literal: true

module Penstock
  VERSION = "0.1.0"
end
