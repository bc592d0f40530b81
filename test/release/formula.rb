# Runs a Homebrew formula with the parts of Homebrew that it uses: formula.rb FORMULA SYSTEM PROCESSOR UNPACKED PREFIX
# prints what the formula selects, as JSON, and installs the unpacked archive in PREFIX.
require 'fileutils'
require 'json'

SYSTEM, PROCESSOR, UNPACKED, PREFIX = ARGV.drop(1)

class Place
  def initialize(*path)
    @path = File.join(PREFIX, *path)
  end

  def install(files)
    FileUtils.mkdir_p(@path)
    (files.is_a?(Hash) ? files : Array(files).to_h { |file| [file, File.basename(file)] }).each do |file, name|
      FileUtils.mv(file, File.join(@path, name))
    end
  end

  def to_s
    @path
  end
end

class Formula
  def self.selected
    @selected ||= {}
  end

  %i[desc homepage version license url sha256].each do |name|
    define_singleton_method(name) { |value| selected[name] = value }
  end

  { on_macos: 'macos', on_linux: 'linux', on_arm: 'arm', on_intel: 'intel' }.each do |name, word|
    define_singleton_method(name) { |&block| instance_eval(&block) if [SYSTEM, PROCESSOR].include?(word) }
  end

  def self.test(&block)
    define_method(:run_test, &block)
  end

  def version = self.class.selected[:version]
  def bin = Place.new('bin')
  def man1 = Place.new('share/man/man1')
  def man7 = Place.new('share/man/man7')
  def bash_completion = Place.new('etc/bash_completion.d')
  def zsh_completion = Place.new('share/zsh/site-functions')
  def fish_completion = Place.new('share/fish/vendor_completions.d')
  def shell_output(command) = `#{command}`

  def assert_match(expected, actual)
    raise "#{actual} does not contain #{expected}" unless actual.include?(expected)
  end
end

load ARGV.first
formula = Chatctl.new
Dir.chdir(UNPACKED) { formula.install }
formula.run_test
puts JSON.generate(Chatctl.selected)
