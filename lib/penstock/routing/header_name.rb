# frozen_string_literal: true

require_relative "../config/types"

module Penstock
  module Routing
    # The type of an option that names a header of messages.
    class HeaderName
      LEGAL = /\A[!-~]{1,255}\z/
      private_constant :LEGAL

      def coerce(value)
        return nil if value.nil?
        return Config::Types::INVALID unless value.is_a?(String) || value.is_a?(Symbol)

        LEGAL.match?(value.to_s) ? value.to_s.dup.freeze : Config::Types::INVALID
      end

      def to_s = "the name of a header: 1 to 255 printable ASCII characters without spaces"
    end
  end
end
