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
          def listed = %w[lib/penstock.rb]

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

        test "files that are deleted here are deleted there; what was made there stays" do
          stale = %w[lib/penstock/deleted.rb gemfiles/rails_6.1.gemfile test/gemfiles/old.gemfile]
          made = %w[
            lib/penstock/penstock_kafka.so gemfiles/rails_8.1.gemfile.lock test/gemfiles/puma_8.gemfile.lock vendor/x Gemfile.lock
          ]
          tree = File.join(@dir, "penstock")
          (stale + made).map { |path| File.join(tree, path) }.each do |path|
            FileUtils.mkdir_p(File.dirname(path))
            File.write(path, "")
          end
          Recording.new(@dir).send(:copy_tree)

          assert_equal made, (stale + made).select { |path| File.exist?(File.join(tree, path)) }
          assert_path_exists File.join(tree, "lib/penstock.rb")
        end

        test "another release is refused with the names of those that are known" do
          assert_match(/--chroot knows trixie, not sarge/, assert_raises(Chroot::Error) { Chroot.new("sarge") }.message)
        end
      end
    end
  end
end
