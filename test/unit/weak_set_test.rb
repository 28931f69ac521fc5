# frozen_string_literal: true

require "test_helper"
require "penstock/weak_set"

module Penstock
  class WeakSetTest < TestCase
    # An object with another one, which was created before it and is freed before it.
    Holder = Struct.new(:held)

    def fill(set, count)
      held = Array.new(count) { Object.new }
      held.each { |one| set.add(Holder.new(one)) }
      nil
    end

    test "what nothing else holds is left out, also while its memory is being freed; the process survives" do
      set = WeakSet.new
      kept = Array.new(10) { Holder.new(Object.new) }
      kept.each { |one| set.add(one) }
      5.times do
        fill(set, 20_000)
        GC.start(full_mark: true, immediate_sweep: false)
        Array.new(5_000) { |number| "text #{number}" } # takes the place of objects that were freed

        assert_operator set.to_a.size, :<, 20, "but for those whose address is still on the stack"
        assert_equal [Object], set.to_a.map { |one| one.held.class }.uniq
        kept.each { |one| assert_includes set.to_a.map(&:object_id), one.object_id }
      end
    end
  end
end
