// In a folder with this file alone, with Maven to fetch the library:
//   mvn dependency:copy -Dartifact=com.surftools:BeanstalkClient:1.4.6 -DoutputDirectory=.
//   java -cp BeanstalkClient-1.4.6.jar Beanstalk.java
import com.surftools.BeanstalkClient.Client;
import com.surftools.BeanstalkClient.Job;
import com.surftools.BeanstalkClientImpl.ClientImpl;

public class Beanstalk {
  public static void main(String[] arguments) {
    Client client = new ClientImpl("127.0.0.1", 11300);
    client.useTube("mail");
    client.put(0, 0, 60, "world".getBytes());

    client.watch("mail");
    Job job = client.reserve(10);
    System.out.println("hello " + new String(job.getData()));
    client.delete(job.getJobId());
    client.close();
  }
}
