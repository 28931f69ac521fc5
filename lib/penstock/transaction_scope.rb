# frozen_string_literal: true

module Penstock
  # Remembers whether the calling fiber is in a transaction, of any producer. Has no state of its own but a fiber-local variable;
  # a file of its own, so that asking doesn't load the producer.
  # @api private
  module TransactionScope
    KEY = :penstock_transaction
    private_constant :KEY

    class << self
      # @yield while the calling fiber counts as in a transaction; may be nested
      # @return [Object] what the block returns
      def enter
        outer = Thread.current[KEY]
        Thread.current[KEY] = true
        yield
      ensure
        Thread.current[KEY] = outer
      end

      # @return [Boolean]
      def active? = !Thread.current[KEY].nil?
    end
  end
end
