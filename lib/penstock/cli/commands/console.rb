# frozen_string_literal: true

require_relative "../boot"
require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Opens IRB with the application loaded. In a Rails application it runs the Rails console, which also loads the
      # rest of the application.
      class Console < Command
        command "console", "Opens IRB with the application loaded", aliases: ["c"]

        RAILS = "bin/rails"

        private

        def call(_words)
          context.env["PENSTOCK_CONSOLE"] = "true"
          rails = File.join(BootFile.new(env: context.env, dir: context.dir).root, RAILS)
          Kernel.exec(rails, "console") if File.executable?(rails)

          Boot.new(context).application
          irb
        end

        # IRB would read the rest of ARGV as its own arguments.
        def irb
          require "irb"

          ARGV.clear
          IRB.start
        end
      end
    end
  end
end
