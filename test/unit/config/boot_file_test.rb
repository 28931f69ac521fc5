# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "fileutils"
require "penstock/config/boot_file"

class BootFileTest < Penstock::TestCase
  def setup
    @dir = File.realpath(Dir.mktmpdir("boot-file"))
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  test "penstock.rb of the root is found before config/penstock.rb" do
    write("config/penstock.rb")
    assert_equal at("config/penstock.rb"), boot_file.path

    write("penstock.rb")
    assert_equal at("penstock.rb"), boot_file.path
  end

  test "[boot file env] a relative path starts from the root" do
    write("app/boot.rb")

    assert_equal at("app/boot.rb"), boot_file({"PENSTOCK_BOOT_FILE" => "app/boot.rb"}).path
    assert_equal at("app/boot.rb"),
      boot_file({"PENSTOCK_BOOT_FILE" => "app/boot.rb", "PENSTOCK_ROOT_DIR" => @dir}, dir: "/").path
  end

  test "[boot file env] an absolute path is used as it is" do
    write("elsewhere.rb")

    assert_equal at("elsewhere.rb"), boot_file({"PENSTOCK_BOOT_FILE" => at("elsewhere.rb")}, dir: "/").path
  end

  test "[boot file env] false loads nothing, or config/environment.rb if it exists" do
    file = boot_file({"PENSTOCK_BOOT_FILE" => "false"})
    assert_nil file.path

    write("config/environment.rb")
    assert_equal at("config/environment.rb"), file.path
  end

  test "[boot file env] a missing file is reported with every path that was tried" do
    error = assert_raises(Penstock::MissingBootFileError) { boot_file.path }
    assert_includes error.message, at("penstock.rb")
    assert_includes error.message, at("config/penstock.rb")

    write("penstock.rb")
    error = assert_raises(Penstock::MissingBootFileError) { boot_file({"PENSTOCK_BOOT_FILE" => "no.rb"}).path }
    assert_includes error.message, at("no.rb")
    refute_includes error.message, "/penstock.rb"
  end

  test "an empty variable counts as unset" do
    write("penstock.rb")

    assert_equal at("penstock.rb"), boot_file({"PENSTOCK_BOOT_FILE" => ""}).path
  end

  test "the root is the Gemfile's folder if the current folder is within it" do
    FileUtils.mkdir_p(at("below/it"))
    env = {"BUNDLE_GEMFILE" => at("Gemfile")}

    assert_equal @dir, boot_file(env, dir: at("below/it")).root
    assert_equal @dir, boot_file(env).root
  end

  test "the Gemfile of another folder doesn't set the root: a command never touches an unrelated folder" do
    assert_equal "/", boot_file({"BUNDLE_GEMFILE" => at("Gemfile")}, dir: "/").root
    assert_equal "#{@dir}-other", boot_file({"BUNDLE_GEMFILE" => at("Gemfile")}, dir: "#{@dir}-other").root
  end

  test "the outer Gemfile wins if a tool runs inside a bundle of its own" do
    FileUtils.mkdir_p(at("tool"))
    env = {"BUNDLE_GEMFILE" => at("tool/Gemfile"), "BUNDLER_ORIG_BUNDLE_GEMFILE" => at("Gemfile")}

    assert_equal @dir, boot_file(env, dir: at("tool")).root
  end

  test "the file is loaded by its absolute path, once" do
    $boot_files_loaded = [] # rubocop:disable Style/GlobalVars -- a file has nothing else
    write("penstock.rb", "$boot_files_loaded << __FILE__")
    2.times { assert_equal at("penstock.rb"), boot_file.load }

    assert_equal [at("penstock.rb")], $boot_files_loaded # rubocop:disable Style/GlobalVars
  end

  test "a boot file in the folder of environment.rb is loaded after it, and once: the environment may load it itself" do
    $boot_files_loaded = [] # rubocop:disable Style/GlobalVars -- files have nothing else
    write("config/environment.rb", "$boot_files_loaded << :environment; require #{at("config/penstock.rb").inspect}")
    write("config/penstock.rb", "$boot_files_loaded << :boot_file")
    2.times { boot_file.load }
    assert_equal %i[environment boot_file], $boot_files_loaded # rubocop:disable Style/GlobalVars

    write("penstock.rb", "$boot_files_loaded << :root")
    FileUtils.rm(at("config/environment.rb"))
    boot_file.load
    assert_equal :root, $boot_files_loaded.last # rubocop:disable Style/GlobalVars
  end

  private

  def boot_file(env = {}, dir: @dir)
    Penstock::Config::BootFile.new(env: env, dir: dir)
  end

  def at(path)
    File.join(@dir, path)
  end

  def write(path, text = "")
    FileUtils.mkdir_p(File.dirname(at(path)))
    File.write(at(path), text)
  end
end
