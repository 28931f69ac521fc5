# frozen_string_literal: true

namespace :librdkafka do
  desc "Fetch librdkafka's pinned source into ports/archives, as compiling does, and as `gem build` needs it"
  task :fetch do
    require_relative "../ext/penstock_kafka/recipe"
    puts Recipe.tarball
  rescue Tarball::Error => error
    abort error.message
  end
end
