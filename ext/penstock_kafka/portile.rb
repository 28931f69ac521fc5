# frozen_string_literal: true

require "etc"
require "mini_portile2"

# librdkafka's own makefile also builds a C++ library, examples and documentation; only the static C library is needed.
class Portile < MiniPortile
  def initialize(name, version, target)
    super(name, version)
    @target = target
  end

  # @return [String] the patched, built source tree
  def source
    File.expand_path(work_path)
  end

  # A partially extracted or patched tree of an interrupted build looks like a complete one, so start from scratch.
  def extract
    FileUtils.rm_rf(tmp_path)
    super
  end

  # Two jobs: keeps small machines usable.
  def compile
    execute("compile", [make_cmd, "-C", "src", "-j#{[Etc.nprocessors, 4].min}", "librdkafka.a"])
  end

  # Recipe copies the three files it needs.
  def install
  end

  private

  # The tarball's path comes from Recipe, and needn't be below ports/.
  def files_hashs
    @files.map { |file| file.merge(local_path: file[:url].delete_prefix("file://")) }
  end
end
