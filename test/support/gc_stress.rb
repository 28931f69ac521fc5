# frozen_string_literal: true

require_relative "test_case"

module Penstock
  module TestSupport
    # Every allocation of a test runs a collection (minor ones: full ones would take hours), and objects are moved
    # before and after each test. This finds a reference that the C code forgot to mark or to update.
    module GcStress
      MINOR_AT_EVERY_ALLOCATION = 1

      def run
        GC.compact if GC.respond_to?(:compact)
        super
      ensure
        GC.stress = false
        GC.start
        GC.compact if GC.respond_to?(:compact)
      end

      def after_setup
        super
        GC.stress = MINOR_AT_EVERY_ALLOCATION
      end

      def before_teardown
        GC.stress = false
        super
      end
    end
  end
end

GC.auto_compact = true if GC.respond_to?(:auto_compact=)
Penstock::TestCase.prepend(Penstock::TestSupport::GcStress)
