# frozen_string_literal: true

namespace :docs do
  desc "Draw docs/pictures/*.svg from docs/pictures/*.yml"
  task :pictures do
    require_relative "pictures/picture"
    Dir["docs/pictures/*.yml"].sort.each do |path|
      picture = Pictures::Picture.load(path)
      picture.problems.each { |problem| warn "#{path}: #{problem}" }
      File.write(path.sub(/\.yml\z/, ".svg"), picture.to_svg)
    end
  end
end
