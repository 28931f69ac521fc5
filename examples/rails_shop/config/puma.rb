# frozen_string_literal: true

threads 3, 3
port ENV.fetch("PORT", 3000)
environment ENV.fetch("RAILS_ENV", "development")

# In development, Puma also runs the consumers (config/penstock.rb), and an in-memory Kafka unless a broker listens.
plugin :penstock if ENV.fetch("RAILS_ENV", "development") == "development"
