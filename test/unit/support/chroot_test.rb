# frozen_string_literal: true

require "test_helper"
require "support/runner/chroot"

module Penstock
  module TestSupport
    module Runner
      class ChrootTest < TestCase
        # Records what is run, instead of running it.
        class Recording < Chroot
          attr_reader :ran

          def initialize(dir)
            super("trixie")
            @root = dir
            @ran = []
          end

          private

          def bootstrap = (@ran << :bootstrap) && File.write(base_marker, "")
          def copy_machine_files = @ran << :machine_files

          def inside(_script, *arguments, timeout:)
            @ran << arguments
            Child::Result.new(status: ::Process.wait2(spawn("true")).last, timed_out: timeout.zero?)
          end
        end

        def setup
          super
          skip "--chroot needs root" unless ::Process.uid.zero?
          @dir = Dir.mktmpdir("chroot")
        end

        def teardown
          FileUtils.rm_rf(@dir) if @dir
          super
        end

        def prepared
          Recording.new(@dir).tap { |chroot| capture_io { chroot.prepare } }.ran
        end

        test "the system is made once; packages that it is missing are installed later too, and replace no file of this machine" do
          assert_equal [:bootstrap, :machine_files, Chroot::PACKAGES, :machine_files], prepared
          assert_equal %i[machine_files machine_files], prepared

          File.write(File.join(@dir, "penstock-packages"), "ruby")
          assert_equal [:machine_files, Chroot::PACKAGES, :machine_files], prepared
        end

        test "another release is refused with the names of those that are known" do
          assert_match(/--chroot knows trixie, not sarge/, assert_raises(Chroot::Error) { Chroot.new("sarge") }.message)
        end
      end
    end
  end
end
