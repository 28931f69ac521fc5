# frozen_string_literal: true

# Settings of both extconf.rb: which sources to compile, with which warnings and which checks. Switches are environment
# variables, so that `gem install`, `rake compile` and `bundle install` all pass them on:
#   PENSTOCK_PEDANTIC=1     warnings are errors, debug symbols, librdkafka's own assertions
#   PENSTOCK_ASAN=1         AddressSanitizer and UndefinedBehaviorSanitizer, in librdkafka too
#   PENSTOCK_NO_EVENTFD=1   wake through pipes, as systems without eventfd and futex do
#   PENSTOCK_NO_PIDFD=1     watch children without pidfd
module BuildSettings
  SANITIZERS = "-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
  WARNINGS = "-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers"

  module_function

  def on?(switch)
    !["", "0"].include?(ENV.fetch("PENSTOCK_#{switch}", ""))
  end

  # Compiler flags for librdkafka and for our own code.
  def common_cflags
    flags = ["-fPIC", "-fvisibility=hidden"]
    flags << "-g -O1 #{SANITIZERS}" if on?("ASAN")
    flags << "-g" if on?("PEDANTIC")
    flags
  end

  # librdkafka shifts negative numbers when it encodes them and sorts empty lists that have no array: the compilers it is built
  # with define both, although the C standard doesn't.
  def librdkafka_cflags
    on?("ASAN") ? [*common_cflags, "-fno-sanitize=shift,nonnull-attribute"] : common_cflags
  end

  def apply_compiler_flags
    $CFLAGS = [$CFLAGS, "-std=gnu11", *common_cflags, WARNINGS].join(" ")
    $warnflags = $warnflags.to_s.gsub("-Wdeclaration-after-statement", "") # we write C11
    $CFLAGS << " -Werror" if on?("PEDANTIC")
    $defs << "-DPENSTOCK_NO_EVENTFD" if on?("NO_EVENTFD")
    $defs << "-DPENSTOCK_NO_PIDFD" if on?("NO_PIDFD")
    $LDFLAGS << " #{SANITIZERS}" if on?("ASAN")
  end

  # Users load other librdkafka bindings in the same process: they must not see our symbols, nor we theirs.
  def apply_private_linking
    $DLDFLAGS << " -Wl,--exclude-libs,ALL -Wl,-Bsymbolic" unless RUBY_PLATFORM.include?("darwin")
  end

  # mkmf names objects by base name; our sources are in folders (conf.c and core/conf.c), so each object keeps its path.
  # A shared source is given relative to its folder, see append_shared_folder.
  def apply_sources(folder, shared: [], shared_folder: nil)
    names = Dir.chdir(folder) { Dir["*.c", "core/*.c"].sort } + shared
    $objs = names.map { |name| name.sub(/\.c\z/, ".#{$OBJEXT}") }
    $srcs = names
    $INCFLAGS << " -I$(srcdir) -I$(srcdir)/core"
    $INCFLAGS << " -I$(srcdir)/#{shared_folder}" if shared_folder
    $cleanfiles << "core/*.#{$OBJEXT}"
    FileUtils.mkdir_p("core")
  end

  # For C files only. With mkmf's own VPATH, make would also use the other extension's timestamps for this one where both are
  # built in their source folders, as `gem install` does: the target folder would then never be created.
  def append_shared_folder(shared_folder)
    File.write("Makefile", "\nvpath %.c $(srcdir)/#{shared_folder}\n", mode: "a")
  end

  # mkmf only looks for headers in the top folder, and doesn't rebuild when flags change.
  def append_header_dependencies(folder, *more)
    headers = [folder, *more].flat_map { |path| Dir[File.join(path, "**/*.h")] }.sort
    File.write("Makefile", "\n$(OBJS): Makefile #{headers.join(" ")}\n#{asan_rule}", mode: "a")
  end

  # Ruby raises with a built-in longjmp that the sanitizer doesn't see: the marks around locals of the frames it jumps over
  # would stay on the stack and be reported later. Only frames of the binding are jumped over; the core keeps its marks.
  def asan_rule
    return "" unless on?("ASAN")

    clang = RbConfig.expand(ENV.fetch("CC", RbConfig::CONFIG["CC"]).dup).include?("clang")
    "$(filter-out core/%,$(OBJS)): CFLAGS += #{clang ? "-mllvm -asan-stack=0" : "--param asan-stack=0"}\n"
  end
end
