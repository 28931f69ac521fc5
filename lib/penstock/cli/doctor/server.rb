# frozen_string_literal: true

require "socket"
require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Checks the connection to one bootstrap server before Kafka's protocol begins: name resolution, TCP, TLS. Uses
      # plain sockets, because the client library reports all of these failures as "all brokers down". Runs on the main
      # thread; every step has a time limit.
      class Server
        DEFAULT_PORT = 9092
        LIMIT_S = 5

        # @param address [String] `host:port` as in `bootstrap.servers`
        # @param tls [Tls, nil] opens a TLS session; nil if the protocol has none
        def initialize(address, tls: nil)
          @address = address
          @host, @port = split(address.sub(%r{\A[a-zA-Z_]+://}, ""))
          @tls = tls
        end

        # @return [Array<Step>] steps after the first failed one are skipped
        def steps
          steps = [resolve]
          steps << (steps.last.failed? ? Step.skipped("TCP", @address) : connect)
          return steps unless @tls

          steps << ((steps.last.state == :ok) ? @tls.step(@host, @port) : Step.skipped("TLS", @address))
        end

        private

        def split(text)
          host, port = text.match(/\A(\[.+?\]|[^:]*)(?::(.*))?\z/m)&.captures
          [host.to_s.delete("[]"), port ? Integer(port, exception: false) : DEFAULT_PORT]
        end

        def resolve
          return bad_port unless @port

          @addresses = Addrinfo.getaddrinfo(@host, @port, nil, :STREAM).map(&:ip_address).uniq
          Step.ok("DNS", "#{@host} is #{@addresses.join(", ")}")
        rescue SocketError => error
          Step.failed("DNS", "#{@host}: #{error.message}",
            "check the spelling in bootstrap.servers, /etc/resolv.conf, and whether this machine is on the right network")
        end

        def bad_port
          Step.failed("DNS", "#{@address} has a port that is not a number", "write host:port, as in kafka.example.com:9092")
        end

        def connect
          Socket.tcp(@host, @port, connect_timeout: LIMIT_S).close
          Step.ok("TCP", "#{@host}:#{@port} accepts connections")
        rescue SystemCallError, SocketError, IOError => error
          Step.failed("TCP", "#{@host}:#{@port}: #{error.message.sub(/ - .*/, "")}", connect_hint(error))
        end

        def connect_hint(error)
          case error
          when Errno::ECONNREFUSED then "nothing listens there: check that the broker runs and that this is its port"
          when Errno::ETIMEDOUT, Errno::EHOSTUNREACH, Errno::ENETUNREACH
            "packets don't get through: check the firewall, security groups and routes"
          else "check the address in bootstrap.servers"
          end
        end
      end
    end
  end
end
