# frozen_string_literal: true

require "rubygems/package"
require "zlib"

# One file inside a .gem, which is a tar with a compressed tar inside. It is read as a stream up to that file: nothing else is
# written, and memory doesn't depend on the size of the gem.
class PackedFile
  # @param gem [String] path of a .gem
  # @param name [String] the file's path in it
  def initialize(gem, name)
    @gem = gem
    @name = name
  end

  # @param path [String] file to write
  # @return [String] the path
  # @raise [IOError] the gem does not contain the file
  # @raise [Gem::Package::Error, Zlib::Error] it is damaged
  def extract_to(path)
    contents { |entry| return path if entry.full_name == @name && IO.copy_stream(entry, path) }
    raise IOError, "#{File.basename(@gem)} does not contain #{@name}"
  end

  private

  def contents(&)
    File.open(@gem, "rb") do |file|
      data = Gem::Package::TarReader.new(file).find { |entry| entry.full_name == "data.tar.gz" }
      raise IOError, "#{File.basename(@gem)} is no gem: it does not contain data.tar.gz" unless data

      Gem::Package::TarReader.new(Zlib::GzipReader.new(data)).each(&)
    end
  end
end
