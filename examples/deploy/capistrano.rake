# frozen_string_literal: true

# lib/capistrano/tasks/penstock.rake. Hosts with the role :worker run the unit penstock-server (or what :penstock_unit says);
# the deploying user may restart it by sudo.
namespace :penstock do
  desc "Looks at settings and units of the new release before it is made current"
  task :check do
    on roles(:worker) do
      within release_path do
        execute :bundle, :exec, :penstock, :doctor, "--deploy", "/etc/systemd/system/#{fetch(:penstock_unit)}.service"
      end
    end
  end

  # TERM, the end of the old release's jobs, the new one's READY: all that is `systemctl restart`, which waits for it. One host
  # after another, so that the others go on, and a release that doesn't start stops the deploy at the first.
  desc "Replaces the running servers, one host after another"
  task :restart do
    on roles(:worker), in: :sequence do
      execute :sudo, :systemctl, :restart, fetch(:penstock_unit)
    end
  end

  desc "Prints how the servers do"
  task :status do
    on roles(:worker) do
      within current_path do
        with penstock_run_dir: "/run/#{fetch(:penstock_unit)}" do
          puts capture(:bundle, :exec, :penstock, :status)
        end
      end
    end
  end
end

namespace :load do
  task(:defaults) { set :penstock_unit, "penstock-server" }
end

after "deploy:updated", "penstock:check"
after "deploy:published", "penstock:restart"
