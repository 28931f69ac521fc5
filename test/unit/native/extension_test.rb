# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

module Penstock
  # A clone in which bin/setup hasn't run: the compiled parts are missing.
  class NativeExtensionTest < TestCase
    ROOT = File.expand_path("../../..", __dir__)

    def setup
      @clone = File.realpath(Dir.mktmpdir("clone"))
      FileUtils.cp_r(%w[lib exe].map { |folder| File.join(ROOT, folder) }, @clone)
      FileUtils.rm_f(Dir[File.join(@clone, "lib/penstock/*.{so,bundle}")])
      FileUtils.mkdir_p(File.join(@clone, "bin"))
      FileUtils.touch(File.join(@clone, "bin/setup"))
      File.write(File.join(@clone, "penstock.rb"), <<~RUBY)
        require "penstock"
        class Seen < Penstock::BaseConsumer
          def consume = nil
        end
        class PenstockApp < Penstock::App
          setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
          routes.draw { topic(:orders) { consumer Seen } }
        end
      RUBY
    end

    def teardown = FileUtils.remove_entry(@clone)

    test "penstock server in an unbuilt clone names bin/setup, in one line" do
      out, errors, status = ruby(File.join(@clone, "exe/penstock"), "server")

      assert_equal ["", 1], [out, status.exitstatus]
      assert_equal "penstock: Penstock's native extension isn't built (penstock/penstock_kafka can't be found): run bin/setup " \
                   "in #{@clone}\n", errors
    end

    test "so does a program that requires penstock, with a LoadError that is Penstock's" do
      out, errors, = ruby("-I#{@clone}/lib", "-e", <<~RUBY)
        require "penstock"
        begin
          Penstock::Producer.new
        rescue LoadError => error
          puts error.is_a?(Penstock::Error), error.message
        end
      RUBY

      assert_match(%r{\Atrue\nPenstock's native extension isn't built .*run bin/setup in /}, out, errors)
    end

    test "an installed gem has no bin/setup: the gem is to be built again" do
      FileUtils.rm_r(File.join(@clone, "bin"))
      _out, errors, = ruby(File.join(@clone, "exe/penstock"), "server")

      assert_includes errors, "gem pristine penstock --extensions"
    end

    test "the part without librdkafka reports it too; the overview of commands needs neither" do
      program = "begin; require 'penstock/native/core'; rescue LoadError; puts $!.message; end"
      out, errors, = ruby("-I#{@clone}/lib", "-e", program)
      assert_match(/penstock_core can't be found\): run bin\/setup/, out, errors)

      assert_equal 0, ruby(File.join(@clone, "exe/penstock"), "--help").last.exitstatus
    end

    private

    # Without this process's bundle, and without another Penstock.
    def ruby(*arguments)
      clean = ENV.keys.grep(/\A(BUNDLE|RUBYOPT|RUBYLIB|GEM_|PENSTOCK_)/).to_h { |name| [name, nil] }
      Open3.capture3(clean, RbConfig.ruby, *arguments, chdir: @clone)
    end
  end
end
