# frozen_string_literal: true

require_relative "../errors"
require_relative "../instrumentation/log/backtrace"

module Penstock
  module CLI
    # The boot file, or a file that it loads, raised an error. The message has the place in the application, the error, and the
    # application's frames only; `cause` is the error.
    class BootError < StandardError
      include Error

      # Most frames that are shown.
      FRAMES = 8
      # Frames of Ruby itself, of RubyGems' and Bundler's `require`, and of the `require` with which Ruby 3.3 and later warn of
      # bundled gems.
      RUBY = /\A<internal:|\/(?:rubygems|bundler|bootsnap|zeitwerk)[\w.-]*\/|\/bundled_gems\.rb:/
      # The file that loads the boot file: frames below it are the command line's.
      LOADER = File.expand_path("../config/boot_file.rb", __dir__)
      KARAFKA = "Write Penstock::App for Karafka::App, and Penstock::BaseConsumer for Karafka::BaseConsumer"
      private_constant :FRAMES, :KARAFKA, :RUBY, :LOADER

      # @param error [Exception]
      # @param dir [String] paths below it are shown relative to it
      def initialize(error, dir)
        @error = error
        @dir = "#{dir}/"
        super([first_line, *rest, *frames].join("\n"))
      end

      # @return [String] "penstock.rb:13: ", empty where the error has no frame of the application
      def place
        path, line = own.first.to_s.split(":")
        line ? "#{path}:#{line}: " : ""
      end

      private

      def lines = @lines ||= @error.message.to_s.lines(chomp: true)

      # "penstock.rb:13: uninitialized constant PenstockApp::OrderConsumer (NameError)". A syntax error names its place itself.
      def first_line
        return short(lines.first) if @error.is_a?(SyntaxError)

        ["#{place}#{short(lines.first)} (#{@error.class})", (KARAFKA if karafka?)].compact.join(". ")
      end

      def karafka? = @error.is_a?(NameError) && !@error.is_a?(NoMethodError) && @error.name.to_s == "Karafka"

      def rest = lines.drop(1).map { |line| line.empty? ? line : "  #{line.sub(/\A\t+/, "")}" }

      def frames
        return [] if own.size < 2

        ["", *own.first(FRAMES).map { |frame| "  from #{frame}" }]
      end

      # Frames of the application's folder; where it has none, all but Penstock's and Ruby's.
      def own
        @own ||= begin
          loading = @error.backtrace.to_a.take_while { |frame| !frame.start_with?(LOADER) }
          others = Instrumentation::Log::Backtrace.cut(loading).grep_v(RUBY)
          inside = others.grep(/\A(?:#{Regexp.escape(@dir)}|[^\/])/).reject { |frame| frame.include?("/gems/") }
          (inside.empty? ? others : inside).map { |frame| short(frame) }
        end
      end

      def short(text) = text.to_s.delete_prefix(@dir)
    end
  end
end
