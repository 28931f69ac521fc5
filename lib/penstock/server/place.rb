# frozen_string_literal: true

require_relative "../config/root"

module Penstock
  module Server
    # Where a process was started: by this, commands find the processes of the application in whose folder they are called.
    # `root`: the application's folder; `folder`: the current one as the shell names it, so that a link (`current`) that points
    # to another release since then is still the same. A frozen value.
    Place = Struct.new(:root, :folder) do
      # @param env [Hash, ENV]
      # @param dir [String] current folder
      # @return [Place]
      def self.of(env = ENV, dir = Dir.pwd)
        named = env["PWD"].to_s
        new(Config::Root.path(env: env, dir: dir), (named.start_with?("/") && File.identical?(named, dir)) ? named : dir).freeze
      end

      # @param root [String, nil] of another process
      # @param folder [String, nil]
      # @return [Boolean] whether both belong to the same application
      def same?(root, folder) = root == self.root || folder == self.folder
    end
  end
end
