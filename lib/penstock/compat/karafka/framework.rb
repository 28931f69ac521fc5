# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Raises for methods of the module `Karafka` that {Penstock} doesn't have, with what to do instead; `respond_to?` is false
      # for them. Extends {Penstock}.
      module Framework
        INSTEAD = {
          boot_file: "the command line finds it: PENSTOCK_BOOT_FILE, penstock.rb or config/penstock.rb in Penstock.root",
          core_root: "use Penstock.gem_root: the gem's folder",
          pro?: "there is no Pro edition, so nothing depends on it: remove the condition",
          rails?: "ask `defined?(Rails)`"
        }.freeze

        private

        def method_missing(name, *)
          way_out = INSTEAD[name] or return super
          raise NoMethodError, "there is no Penstock.#{name}: #{way_out}", caller
        end

        def respond_to_missing?(name, all = false) = super
      end
    end
  end
end
