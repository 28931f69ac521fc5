# frozen_string_literal: true

require "etc"
require "mini_portile2"

# librdkafka's own makefile also builds a C++ library, examples and documentation; we want the static C library alone.
class Portile < MiniPortile
  def initialize(name, version, target)
    super(name, version)
    @target = target
  end

  # @return [String] the patched, built source tree
  def source
    File.expand_path(work_path)
  end

  # A half extracted or half patched tree of an interrupted build can't be told from a good one.
  def extract
    FileUtils.rm_rf(tmp_path)
    super
  end

  # Two jobs: the linker and the terminal of a small machine stay usable.
  def compile
    execute("compile", [make_cmd, "-C", "src", "-j#{[Etc.nprocessors, 4].min}", "librdkafka.a"])
  end

  # Recipe takes the three files it needs.
  def install
  end

  private

  # The tarball is where Recipe proved it to be, which need not be below ports/.
  def files_hashs
    @files.map { |file| file.merge(local_path: file[:url].delete_prefix("file://")) }
  end
end
