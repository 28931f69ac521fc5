# frozen_string_literal: true

require "json"
require "sqlite3"
require_relative "../reference_envelope"
require_relative "job_record"
require_relative "journal"
require_relative "record"

module Penstock
  module TestSupport
    module FaultRuns
      # Collects all evidence of a fault run in SQLite: journals of its processes, the log as Kafka's own consumer reads
      # it, committed offsets as Kafka's admin client reads them. Filled once, then {#finish}ed; {Checker} queries it.
      class Database
        SQL = %w[schema indexes checks].to_h { |name| [name.to_sym, File.read(File.join(__dir__, "#{name}.sql"))] }.freeze
        # Lines whose fields are a row of a table, between the process and the time: the table and the number of fields.
        LINES = {
          "call" => [:calls, 4], "mark" => [:marks, 4], "assign" => [:rebalances, 3], "revoke" => [:rebalances, 3],
          "revoked" => [:rebalances, 3], "commit" => [:commits, 3], "transaction" => [:transactions, 3],
          "event" => [:events, 2], "error" => [:errors, 3]
        }.freeze
        NAMED = %i[rebalances].freeze
        LETTERS = %w[letter retry skip quarantine].freeze

        # @param path [String] of the file; it must not exist
        def initialize(path = ":memory:")
          @db = SQLite3::Database.new(path)
          @db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; #{SQL.fetch(:schema)}")
          @statements = {}
          @open = {}
        end

        # @param application [Hash] columns of the table
        # @param retries [Array<String>] its retry topics
        def add_application(retries: [], **application)
          insert(:applications, *application.values_at(:name, :consumer_group, :topic, :lane, :offsets, :failing, :transactional,
            :out_topic, :dead_topic, :attempts, :commit_us).map { |value| plain(value) })
          name, topic = application.values_at(:name, :topic)
          insert(:application_topics, name, topic, "source")
          retries.each { |one| insert(:application_topics, name, one, "retry") }
        end

        # @param path [String] a journal
        # @param ending [String, nil] how its process ended: "exit 0", "signal KILL", "runs"; nil: unknown
        # @param ended [Integer, nil] when
        # @return [Integer] its id
        def add_journal(path, ending: nil, ended: nil)
          id = @processes = @processes.to_i + 1
          lines = File.foreach(path, mode: "rb").map { |line| Journal.parse(line) }
          whole = lines.compact
          boot = whole.first
          return id unless boot&.kind == "boot"

          application, pid, wall, member = boot.fields
          whole.drop(1).each { |line| add_line(id, application, line) }
          missing = whole.last.number - whole.size - (lines.size - whole.size)
          insert(:processes, id, application, member, Integer(pid), Integer(wall), boot.at, whole.last.at, ended, ending,
            lines.size - whole.size, [missing, 0].max, path)
          id
        end

        # @param topic [String]
        # @param path [String] output of Reader.java
        def add_log(topic, path)
          File.foreach(path, chomp: true) do |line|
            partition, offset, timestamp, key, value, headers = line.split("\t", -1)
            add_record(topic, Integer(partition), Integer(offset), Integer(timestamp), bytes(key), bytes(value), pairs(headers))
          end
        end

        # @param place [Array] topic, partition, offset, timestamp
        # @param headers [Array<(String, String)>]
        def add_record(*place, key, value, headers)
          record = Record.parse(value) || JobRecord.parse(value)
          given = record.is_a?(JobRecord) ? record.headers : headers
          source = %w[source_topic source_partition source_offset source_attempts].map { |name| headers.assoc(name)&.last }
          source.map! { |text| text&.match?(/\A\d+\z/) ? Integer(text) : text }
          insert(:log, *place, key, value && SQLite3::Blob.new(value), JSON.generate(printable(headers)), record&.uid,
            record&.sequence, record&.kind, given.assoc("uid")&.last, given.assoc("key")&.last,
            record ? 1 : 0, *source)
        end

        # @param path [String] output of Sampler.java
        def add_samples(path)
          File.foreach(path, chomp: true) do |line|
            before, after, group, topic, partition, offset, metadata = line.split("\t", -1)
            add_sample(Integer(before), Integer(after), group, topic, Integer(partition), Integer(offset), metadata.unpack1("m"))
          end
        end

        # @param before [Integer] µs, when the request was sent
        # @param after [Integer] µs, when it was answered
        # @param place [Array] group, topic, partition
        def add_sample(before, after, *place, offset, metadata)
          id = @samples = @samples.to_i + 1
          insert(:samples, id, *place, offset, metadata, before, after)
          return unless metadata.start_with?("pstk1:")

          fields = ReferenceEnvelope.decode(metadata)
          fields[:completed].each { |first, following| insert(:completed, id, first, following) } if fields[:base] == offset
        end

        def add_signal(pid, name, at) = insert(:signals, pid, name, at)

        def add_fault(kind, target, began, ended) = insert(:faults, kind, target.to_s, began, ended)

        # Nothing is added after this.
        def finish
          @statements.each_value(&:close)
          @statements.clear
          end_killed
          @db.execute_batch("#{SQL.fetch(:indexes)} #{SQL.fetch(:checks)} COMMIT;")
          self
        end

        # @return [Array<Array>]
        def rows(sql, *values) = @db.execute(sql, values)

        # @return [Object] of the first row's first column
        def value(sql, *values) = rows(sql, *values).first&.first

        # @return [Array<String>] views whose name begins with "i" and a number
        def checks = rows("SELECT name FROM sqlite_master WHERE type = 'view' AND name GLOB 'i[0-9]*' ORDER BY rowid").flatten

        def close = @db.close

        private

        def insert(table, *values)
          statement = @statements[[table, values.size]] ||=
            @db.prepare("INSERT INTO #{table} VALUES (#{Array.new(values.size, "?").join(", ")})")
          statement.execute(values.map { |value| (value.is_a?(String) && !value.is_a?(SQLite3::Blob)) ? readable(value) : value })
        end

        # Keys and names are text to SQLite; bytes that aren't UTF-8 stay comparable.
        def readable(text)
          utf8 = text.dup.force_encoding(Encoding::UTF_8)
          utf8.valid_encoding? ? utf8 : text.dup.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
        end

        def plain(value)
          case value
          when true then 1
          when false then 0
          when Symbol then value.name
          else value
          end
        end

        def add_line(process, application, line)
          case line.kind
          when "begin" then begin_run(process, application, line)
          when "end" then over(process, line, :ended)
          when "fail" then over(process, line, :failed)
          when "intent"
            uid, topic, key, sequence, kind = line.fields
            insert(:intents, uid, topic, key, Integer(sequence), kind, line.at, process)
          when "ack" then insert(:outcomes, line.fields[0], "ack", Integer(line.fields[1]), Integer(line.fields[2]), nil, line.at)
          when "fail_produce", "unknown" then insert(:outcomes, line.fields[0], outcome(line.kind), nil, nil, line.fields[1],
            line.at)
          when *LETTERS
            topic, partition, offset, attempt, target = line.fields
            insert(:letters, process, application, line.kind, topic, Integer(partition), Integer(offset), attempt, target,
              line.at)
          else add_plain(process, line)
          end
        end

        def outcome(kind) = (kind == "unknown") ? "unknown" : "fail"

        def add_plain(process, line)
          table, count = LINES[line.kind]
          return unless table

          fields = line.fields.first(count).map { |field| field&.match?(/\A-?\d+\z/) ? Integer(field) : field }
          fields.unshift(line.kind) if NAMED.include?(table)
          insert(table, process, *fields, line.at)
        end

        INTEGERS = [0, 2, 3, 4, 9, 13, 14].freeze
        private_constant :INTEGERS

        def begin_run(process, application, line)
          fields = line.fields.each_with_index.map { |field, index| (field && INTEGERS.include?(index)) ? Integer(field) : field }
          id = @runs = @runs.to_i + 1
          @open[[process, fields.first]] = id
          insert(:runs, id, process, fields[0], application, *fields[1..14], line.at, nil, nil, nil)
        end

        def over(process, line, column)
          id = @open.delete([process, Integer(line.fields.first)]) or return
          @ends ||= {}
          statement = @ends[column] ||= @db.prepare("UPDATE runs SET #{column} = ?, error = ? WHERE id = ?")
          @statements[[:runs, column]] = statement
          statement.execute([line.at, line.fields[1], id])
        end

        # Processes that nobody waited for and that the run killed, or whose parent reported them dead.
        def end_killed
          @db.execute(<<~SQL)
            UPDATE processes SET ended = (SELECT MAX(at) FROM signals WHERE signals.pid = processes.pid AND signals.name = 'KILL'),
              ending = 'signal KILL'
            WHERE ending IS NULL AND EXISTS (SELECT 1 FROM signals WHERE signals.pid = processes.pid AND signals.name = 'KILL')
          SQL
          rows("SELECT details, at FROM events WHERE name = 'process_pool.child_died'").each do |details, at|
            @db.execute("UPDATE processes SET ended = ?, ending = 'died' WHERE ending IS NULL AND pid = ?",
              [at, JSON.parse(details)["pid"]])
          end
          @db.execute("UPDATE processes SET ending = 'unknown' WHERE ending IS NULL")
        end

        def bytes(text) = (text == "-") ? nil : text.delete_prefix("=").unpack1("m")

        def pairs(text)
          text.to_s.split(";").map { |pair| pair.split(",", 2).map { |part| bytes(part) } }
        end

        def printable(headers) = headers.map { |pair| pair.map { |text| text && readable(text) } }
      end
    end
  end
end
