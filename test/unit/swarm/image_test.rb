# frozen_string_literal: true

require "test_helper"
require "objspace"
require "penstock"
require "penstock/application"
require "penstock/swarm/image"

module Penstock
  module Swarm
    class ImageTest < TestCase
      # A double of Zeitwerk, which loads the application.
      module Zeitwerk
        module Loader
        end
      end

      def loading(eager_load)
        Zeitwerk::Loader.define_singleton_method(:eager_load_all, &eager_load)
        Object.const_set(:Zeitwerk, Zeitwerk)
        yield
      ensure
        Object.send(:remove_const, :Zeitwerk)
        Zeitwerk::Loader.singleton_class.remove_method(:eager_load_all)
      end

      def load_with(&eager_load) = loading(eager_load) { Image.load_all(Application.new) }

      test "before the fork all code that a node may need is loaded, including files loaded on first use and the application" do
        loaded = false
        load_with { loaded = true }
        on_demand = Penstock.const_get(:ON_DEMAND).keys - %i[Embedded Lint]

        assert loaded
        assert_empty on_demand.reject { |name| Penstock.const_defined?(name, false) && !Penstock.autoload?(name) }
        %w[runtime/loop/loop_parts execution/placement runtime/letter_topics].each do |file|
          assert $LOADED_FEATURES.grep(%r{/#{file}\.rb}).any?, file
        end
      end

      test "a NotImplementedError of the application isn't taken for a heap that can't be compacted" do
        assert_raises(NotImplementedError) { load_with { raise NotImplementedError, "a platform that isn't supported" } }
      end

      test "the application's warm-up runs after everything is loaded, because loading empties caches" do
        done = []
        application = Application.new
        application.monitor.subscribe("app.before_warmup") { done << :warmed }
        loading(-> { done << :loaded }) { Image.prepare(application) }

        assert_equal %i[loaded warmed], done
      end

      test "objects made before the fork are old to Ruby: no collection writes into them any more" do
        young = Array.new(100) { Object.new }
        Image.pack

        assert_empty young.reject { |object| ObjectSpace.dump(object).include?('"old":true') }
      end

      test "there is room for a node's first objects, so that no node enlarges its heap at once" do
        skip "this Ruby does it by itself" if ::Process.respond_to?(:warmup)
        GC.start
        kept = Array.new(GC.stat(:heap_free_slots)) { Object.new }
        Image.pack
        free, live = GC.stat.values_at(:heap_free_slots, :heap_live_slots)

        assert_operator free, :>, live / 3, "#{kept.size} objects kept"
        refute GC.enable, "collections stay off"
      end
    end
  end
end
