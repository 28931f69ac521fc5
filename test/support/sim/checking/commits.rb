# frozen_string_literal: true

require "penstock/native/envelope"

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks commits: I6 (what is committed is complete), I7 (it goes back only for a reason, and only the owner of
        # the partition commits). Part of {Checker}.
        module Commits
          def commit_sent(driver, rows, assigned)
            rows.each do |row|
              @said_at[[driver, row.first(2)]] = @world.timeline.now
              next if assigned.include?(row.first(2))
              fail("I7", "#{driver.name} commits #{row.first(2).join("/")} at #{row[2]} after it was revoked")
            end
          end

          def commit_fares(_driver, fate)
            @coverage.hit("commit reply lost") if fate == :unanswered
            @coverage.hit("commit late") if fate == :late
          end

          def read_fares(_driver, fate) = @coverage.hit("offsets read: #{fate}")

          def stored(group, key, before, commit, request)
            @world.trace(:stored, key[1], commit.offset)
            complete_below(key, commit.offset, request.driver)
            counted = @maps[key]&.crashes || {}
            complete_in(key, commit)
            tried(key, request.driver, counted, @maps[key].crashes) if @maps[key]
            backwards(group, key, before, commit, request) if before && commit.offset < before.offset
            @trouble.delete([request.driver, key])
            return @straggler.delete(key) if request.driver.assigned.include?(key)
            @coverage.hit("commit stored after the hand-over")
            @straggler[key] = true
          end

          def read(key)
            map = @maps[key] or return
            @coverage.hit("adoption with attempts") if map.attempts.any?
            @coverage.hit("adoption with map") if map.completed.any?
          end

          def refused(driver, rows)
            @coverage.hit("commit refused")
            rows.each { |row| @trouble[[driver, row.first(2)]] = true }
          end

          private

          def complete_below(key, offset, driver)
            list = @of_place[key]
            list.each do |truth|
              next if truth.offset < @checked[key]
              break if truth.offset >= offset
              next if truth.done || truth.exempt || cut_below?(key, truth.offset) || stepped_over?(truth)
              return not_done(driver, key, offset, truth)
            end
            @checked[key] = [@checked[key], offset].max
          end

          def not_done(driver, key, offset, truth)
            commits = "#{driver.name} commits #{key.join("/")} at #{offset}"
            return fail("I12", "#{commits} before the dead letter of #{truth.offset} has arrived") if truth.sent.any?
            fail("I6", "#{commits}, but #{truth.offset} is not complete")
          end

          # Offsets that the metadata marks as complete are complete, too.
          def complete_in(key, commit)
            @maps[key] = nil
            return if commit.metadata.nil? || commit.metadata.empty?
            decoded = Native::Envelope.decode(commit.metadata, base: commit.offset, topic: key[0])
            @maps[key] = decoded
            decoded.completed.each do |from, to|
              open = @of_place[key].find do |truth|
                truth.open? && truth.offset.between?(from, to - 1) && !cut_below?(key, truth.offset)
              end
              fail("I6", "#{key.join("/")}: the commit's metadata marks #{open.offset} as complete, but it isn't") if open
            end
          end

          def mapped?(key, truth)
            @maps[key]&.completed&.any? { |from, to| truth.offset.between?(from, to - 1) }
          end

          def backwards(group, key, before, commit, request)
            if @back.key?(key) && commit.offset >= @back[key]
              return excuse(key, commit.offset, 1)
            end
            return excuse(key, commit.offset, 1) if @straggler[key] || !group.owner(key).equal?(request.driver)
            fail("I7", "#{request.driver.name} commits #{key.join("/")} back from #{before.offset} to #{commit.offset}")
          end
        end
      end
    end
  end
end
