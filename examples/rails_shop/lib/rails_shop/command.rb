# frozen_string_literal: true

require "optparse"
require_relative "setup"

module RailsShop
  # `bin/shop`: starts the shop, or checks it. Doesn't load Rails: its child processes do.
  class Command
    HELP = <<~TEXT
      Usage: bin/shop [options]

      Starts the shop with one command: the web server, the consumers and an in-memory Kafka. Place orders at
      http://127.0.0.1:3000 and see what happens to them. Ctrl-C ends everything. The shop is empty at each start, because the
      records of an in-memory Kafka are gone when it ends.

      --check starts the shop in a temporary folder, places orders over HTTP, kills (-9) a process that consumes them, waits until
      all have been charged and their receipts mailed, compares the sums, and stops everything.

      Options:
    TEXT
    CODES = <<~TEXT

      Environment, except with --check: SHOP_STORAGE is the folder of database and log (storage); KAFKA_BOOTSTRAP_SERVERS names
      another broker than an in-memory one.

      Exit codes of --check: 0 every order was charged once and its receipt mailed once; 1 not so, or the shop didn't start
      (the reason is printed); 2 wrong usage
    TEXT
    # A check takes about 20 s on an idle machine.
    SECONDS = 180

    # @param words [Array<String>] the command line
    def initialize(words, out: $stdout, err: $stderr)
      @words = words
      @out = out
      @err = err
      @port = 3000
      @seconds = SECONDS
    end

    # @return [Integer] exit code
    def call
      rest = parser.parse(@words)
      return refuse("unknown argument: #{rest.first}") if rest.any?
      return show(parser.help) if @help
      Setup.new(@out).call unless @installed
      @check ? check : start
    rescue OptionParser::ParseError => error
      refuse(error.message.lines.first.strip)
    rescue Failed => error
      @err.puts "shop: #{error.message}"
      1
    end

    private

    def parser
      @parser ||= OptionParser.new(HELP) do |options|
        options.on("--check", "check the shop instead of starting it") { @check = true }
        options.on("--port N", Integer, "port of the web server (3000)") { |port| @port = port }
        options.on("--seconds N", Integer, "time limit of the check (#{SECONDS})") { |seconds| @seconds = seconds }
        options.on("--no-setup", "everything is installed: don't look") { @installed = true }
        options.on("-h", "--help", "print this") { @help = true }
        options.separator(CODES)
      end
    end

    def show(text)
      @out.puts text
      0
    end

    def refuse(reason)
      @err.puts "shop: #{reason}. See bin/shop --help"
      2
    end

    def check
      require_relative "check"
      Check.new(seconds: @seconds, out: @out).call
    end

    # Becomes the web server.
    def start
      storage = File.expand_path(ENV.fetch("SHOP_STORAGE") { File.join(Processes::ROOT, "storage") })
      shop = Processes.new(storage: storage, port: @port, kafka: ENV["KAFKA_BOOTSTRAP_SERVERS"])
      shop.create_database
      @out.puts "The shop opens at http://127.0.0.1:#{@port}. Ctrl-C ends it."
      @out.flush
      exec(shop.environment, *shop.web, chdir: Processes::ROOT)
    end
  end
end
